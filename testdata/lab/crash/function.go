package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// timeout is the time limit of an invocation by the function's clock. It allows a second round
	// of launches. It is short because a killed function holds its Lease until then.
	timeout = 30 * time.Second
	// stuck is the real time after which a function that neither answers nor exits counts as
	// failed.
	stuck = 3 * time.Minute
)

// errKilled is the error of an invocation whose process was killed.
var errKilled = errors.New("the function was killed")

// function is a process of one Lambda function, or its handler in this process. It has one
// invocation at a time.
type function struct {
	name    string
	work    chan invocation
	answers chan answer
	exited  chan struct{}
	// kill ends the function at once. It returns when no call of it is admitted any more.
	kill func()
}

func newFunction(name string) *function {
	return &function{
		name: name, work: make(chan invocation), answers: make(chan answer, 1), exited: make(chan struct{}),
	}
}

type invocation struct {
	id       string
	payload  []byte
	deadline time.Time // by the function's clock
}

type answer struct {
	payload []byte
	failed  bool
}

// gone reports whether the process has exited.
func (f *function) gone() bool {
	select {
	case <-f.exited:
		return true
	default:
		return false
	}
}

// invoke calls a function and waits for its answer. The process stays for the next call.
func (w *World) invoke(ctx context.Context, name string, event any) ([]byte, error) {
	payload, err := json.Marshal(event)
	if err != nil {
		return nil, err
	}
	f := w.functions[name]
	if f == nil || f.gone() {
		if f, err = w.start(name); err != nil {
			return nil, err
		}
		w.functions[name] = f
	}
	w.gate.let(f)
	defer w.gate.let(nil)
	w.invocations++
	call := invocation{id: fmt.Sprintf("request-%d", w.invocations), payload: payload, deadline: w.now().Add(timeout)}
	limit := time.NewTimer(stuck)
	defer limit.Stop()
	select {
	case f.work <- call:
	case <-f.exited:
		return nil, errKilled
	case <-limit.C:
		f.kill()
		return nil, fmt.Errorf("function %s asked for no invocation within %s", name, stuck)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case given := <-f.answers:
		if given.failed {
			return nil, fmt.Errorf("function %s failed: %s", name, given.payload)
		}
		return given.payload, nil
	case <-f.exited:
		w.gate.carried.Wait() // calls already sent are carried out
		return nil, errKilled
	case <-limit.C:
		f.kill()
		return nil, fmt.Errorf("function %s did not answer within %s", name, stuck)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// end ends all processes.
func (w *World) end() {
	for name, f := range w.functions {
		f.kill()
		delete(w.functions, name)
	}
	w.processes.Wait()
}

// output collects the log lines of a trial's functions.
type output struct {
	mutex   sync.Mutex
	content bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.content.Write(p)
}

func (o *output) take() string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	text := o.content.String()
	o.content.Reset()
	return text
}
