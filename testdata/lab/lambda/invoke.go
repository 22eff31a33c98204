package lambda

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

const (
	errorTimedOut = "Sandbox.Timedout"
	errorExit     = "Runtime.ExitError"
)

// request is one call to make.
type request struct {
	requestID string
	trigger   string
	payload   []byte
	// traces are the tracing headers of the events that caused the call.
	traces  []string
	attempt int
	records int
	// wait for a free place instead of failing with errThrottled, as long as the context lives.
	wait bool
}

// response is the result of an invocation.
type response struct {
	payload []byte
	failure *functionError
}

// Invoke calls a function with a JSON payload and waits for its answer. functionError is the
// error's type if the function failed; the payload is then the error object. The error is for calls
// that did not reach the function.
func (s *Service) Invoke(ctx context.Context, function string, payload []byte) (answer []byte, functionError string,
	err error) {
	f, err := s.find(function)
	if err != nil {
		return nil, "", err
	}
	out, err := s.run(ctx, f, request{trigger: "request", payload: payload})
	if err != nil {
		return nil, "", err
	}
	if out.failure != nil {
		return out.payload, out.failure.Type, nil
	}
	return out.payload, "", nil
}

// run performs one invocation. The context only limits the wait for a place; an invocation that has
// begun runs on, as on AWS. Errors: errThrottled, errNotFound, errClosed, or the failure to create
// a sandbox.
func (s *Service) run(ctx context.Context, f *function, r request) (response, error) {
	if r.requestID == "" {
		r.requestID = wire.NewID()
	}
	r.attempt = max(r.attempt, 1)
	if len(r.payload) > maximumPayload {
		return response{}, fmt.Errorf("%w: the payload has %d bytes, at most %d", errTooLarge, len(r.payload), maximumPayload)
	}
	if !s.begin() {
		return response{}, errClosed
	}
	defer s.work.Done()
	for {
		sb, err := f.acquire(ctx, r.wait)
		if err != nil {
			return response{}, fmt.Errorf("function %s: %w", f.name, err)
		}
		cold := sb == nil
		if cold {
			if sb, err = f.startTaken(); errors.Is(err, errClosed) {
				return response{}, err
			} else if err != nil {
				return s.failedStart(f, r, err), nil
			}
			if failure := sb.waitReady(); failure != nil {
				return s.failedInit(sb, r, failure), nil
			}
		}
		out, handed := s.runIn(sb, r, cold)
		if handed {
			return out, nil
		}
		// The idle sandbox had just died: its process never saw the invocation, so another one may
		// have it.
	}
}

// waitReady waits until the process asks for work. Lambda gives the init phase ten seconds and then
// restarts it within the function's timeout. Here the phase may last as long as the longer of the
// two.
func (sb *sandbox) waitReady() *functionError {
	limit := time.NewTimer(max(initLimit, sb.configuration.Timeout))
	defer limit.Stop()
	looks := time.NewTicker(lookInterval)
	defer looks.Stop()
	for running := true; running; {
		select {
		case <-sb.ready:
			return nil
		case <-limit.C:
			sb.kill()
			<-sb.exited
			return newFunctionError(errorTimedOut, "Error: the init phase timed out after %.2f seconds",
				max(initLimit, sb.configuration.Timeout).Seconds())
		case <-looks.C:
			sb.endIfExceeded()
		case <-sb.exited:
			running = false
		}
	}
	sb.mu.Lock()
	defer sb.mu.Unlock()
	if sb.initError != nil {
		return sb.initError
	}
	return newFunctionError(errorExit, "Error: %s", sb.exitReason)
}

// runIn hands the invocation to the sandbox and waits for its end. handed is false if the process
// had exited before.
func (s *Service) runIn(sb *sandbox, r request, cold bool) (out response, handed bool) {
	started, before := time.Now(), sb.usage()
	invocation := &running{
		requestID: r.requestID, functionARN: sb.function.arn, payload: r.payload,
		trace: traceHeader(sb.function.arn, r.traces...), started: started, deadline: started.Add(sb.configuration.Timeout),
		outcomes: make(chan outcome, 1), over: make(chan struct{}),
	}
	if clock := s.options.Clock; clock != nil {
		// The process compares the deadline with its own clock.
		invocation.deadline = invocation.deadline.Add(clock(sb.configuration.Name).Ahead())
	}
	sb.mu.Lock()
	sb.current = invocation
	sb.mu.Unlock()
	sb.logStart(r.requestID)
	select {
	case sb.work <- invocation:
	case <-sb.exited:
		if !cold {
			return response{}, false
		}
	}
	timeout := time.NewTimer(sb.configuration.Timeout)
	defer timeout.Stop()
	end := sb.wait(invocation, timeout)
	record := s.describe(sb, r, started, before, end, cold)
	if cold {
		record.Init = sb.initDuration
		record.Billed = billed(record.Init + record.Duration)
	}
	sb.logReport(record)
	s.record(record)
	out = response{payload: end.payload, failure: end.failure}
	if end.failure != nil {
		out.payload = end.failure.payload
	}
	// The invoke phase lasts until the process asks for more; only then does the next call find
	// this sandbox idle.
	select {
	case <-invocation.over:
	case <-sb.exited:
	case <-timeout.C:
		sb.kill()
	}
	return out, true
}

// wait returns the invocation's end.
func (sb *sandbox) wait(invocation *running, timeout *time.Timer) outcome {
	looks := time.NewTicker(lookInterval)
	defer looks.Stop()
	for {
		select {
		case end := <-invocation.outcomes:
			if reason := sb.endIfExceeded(); reason != "" {
				return outcome{ended: end.ended, failure: failureByExit(invocation, reason)}
			}
			return end
		case <-sb.exited:
			return sb.endByExit(invocation)
		case <-looks.C:
			if reason := sb.endIfExceeded(); reason != "" {
				return outcome{ended: time.Now(), failure: failureByExit(invocation, reason)}
			}
		case <-timeout.C:
			sb.kill()
			<-sb.exited
			return outcome{
				ended: time.Now(),
				failure: newFunctionError(errorTimedOut, "RequestId: %s Error: Task timed out after %.2f seconds",
					invocation.requestID, sb.configuration.Timeout.Seconds()),
			}
		}
	}
}

// endByExit prefers an answer that was given just before the process ended.
func (sb *sandbox) endByExit(invocation *running) outcome {
	select {
	case end := <-invocation.outcomes:
		return end
	default:
	}
	return outcome{ended: time.Now(), failure: failureByExit(invocation, sb.exitReason)}
}

func failureByExit(invocation *running, reason string) *functionError {
	return newFunctionError(errorExit, "RequestId: %s Error: %s", invocation.requestID, reason)
}

// describe records an invocation that started with a usage before it.
func (s *Service) describe(
	sb *sandbox, r request, started time.Time, before usage, end outcome, cold bool,
) Invocation {
	used, memory := sb.usage(), sb.configuration.MemoryMB
	i := Invocation{
		Function: sb.function.name, RequestID: r.requestID, Trigger: r.trigger, Attempt: r.attempt, Records: r.records,
		Started: started, Elapsed: end.ended.Sub(started), Processor: max(0, used.processor-before.processor), Cold: cold,
		MemoryMB: memory, PeakMemoryMB: min(memory, int((used.peakKB+1023)/1024)),
		LogGroup: sb.configuration.LogGroup, LogStream: sb.stream,
	}
	i.Duration = atShare(i.Elapsed, i.Processor, memory)
	if end.failure != nil && end.failure.Type == errorTimedOut {
		i.Duration = i.Elapsed
	}
	i.Billed = billed(i.Duration)
	if end.failure != nil {
		i.ErrorType, i.ErrorMessage = end.failure.Type, end.failure.Message
	}
	return i
}

// failedInit ends an invocation whose sandbox never asked for it.
func (s *Service) failedInit(sb *sandbox, r request, failure *functionError) response {
	// A process that reported its error may still run, but gets no work.
	sb.kill()
	<-sb.exited
	if failure.Type == errorExit || failure.Type == errorTimedOut {
		failure = newFunctionError(failure.Type, "RequestId: %s %s", r.requestID, failure.Message)
	}
	record := s.describe(sb, r, sb.born, usage{}, outcome{ended: time.Now(), failure: failure}, true)
	record.Init, record.Duration = record.Duration, 0
	sb.logStart(r.requestID)
	sb.logReport(record)
	s.record(record)
	return response{payload: failure.payload, failure: failure}
}

// failedStart is for a bootstrap that cannot be executed at all.
func (s *Service) failedStart(f *function, r request, err error) response {
	failure := newFunctionError("Runtime.InvalidEntrypoint", "RequestId: %s Error: %v", r.requestID, err)
	settings := f.settings()
	s.options.Logs.Append(settings.LogGroup, "bootstrap", time.Now(), failure.Message, s.mayMakeLogGroup(settings))
	s.record(Invocation{
		Function: f.name, RequestID: r.requestID, Trigger: r.trigger, Attempt: r.attempt, Records: r.records,
		Started: time.Now(), Cold: true,
		MemoryMB: settings.MemoryMB, ErrorType: failure.Type, ErrorMessage: failure.Message, LogGroup: settings.LogGroup,
		LogStream: "bootstrap",
	})
	return response{payload: failure.payload, failure: failure}
}
