package lambda

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// Invocation records one invocation of a function.
type Invocation struct {
	Function  string
	RequestID string
	// Trigger is the caller: "request" and "event" through the API, a service's name such as
	// "events.amazonaws.com", or the ARN of the polled queue.
	Trigger string
	// Attempt counts from 1; only events are tried again by Lambda itself.
	Attempt int
	// Records is the number of queue messages in the batch; 0 for other triggers.
	Records int
	Started time.Time
	// Elapsed is how long it took here, and Processor the processor time within it.
	Elapsed, Processor time.Duration
	// Duration is how long it takes on Lambda, with the function's share of processors.
	Duration time.Duration
	// Cold is true for a sandbox's first invocation. Init is the time until its process asked for
	// work, with the function's share of processors.
	Cold bool
	Init time.Duration
	// Billed is the duration that AWS bills, with the init phase of a cold start, rounded up to a
	// millisecond.
	// https://aws.amazon.com/blogs/compute/aws-lambda-standardizes-billing-for-init-phase/
	Billed   time.Duration
	MemoryMB int
	// PeakMemoryMB is the process's peak resident memory so far, at most MemoryMB; 0 where the system
	// does not report it for running processes.
	PeakMemoryMB int
	// ErrorType and ErrorMessage are empty after a success.
	ErrorType    string
	ErrorMessage string
	LogGroup     string
	LogStream    string
}

// running is an invocation under way in a sandbox.
type running struct {
	requestID   string
	functionARN string
	trace       string
	payload     []byte
	started     time.Time
	deadline    time.Time
	outcomes    chan outcome
	// over is closed when the process asks for the next invocation.
	over chan struct{}
}

// outcome is an invocation's payload or failure.
type outcome struct {
	payload []byte
	failure *functionError
	ended   time.Time
}

// finish reports the outcome; only the first counts.
func (r *running) finish(o outcome) {
	select {
	case r.outcomes <- o:
	default:
	}
}

// platformLine is a line of Lambda itself in the function's log format: text, or JSON of the
// platform event. It is empty if the function's SystemLogLevel filters the event.
func (sb *sandbox) platformLine(level, text, event string, record map[string]any) string {
	if sb.configuration.LogFormat != "JSON" {
		return text
	}
	if !sb.configuration.logs(level) {
		return ""
	}
	line, _ := json.Marshal(map[string]any{
		"time": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), "type": event, "record": record,
	})
	return string(line)
}

func (sb *sandbox) logStart(requestID string) {
	sb.log(time.Now(), sb.platformLine(levelInfo, "START RequestId: "+requestID+" Version: $LATEST", "platform.start",
		map[string]any{"requestId": requestID, "version": "$LATEST"}))
}

// logReport writes END and REPORT as Lambda does.
func (sb *sandbox) logReport(i Invocation) {
	milliseconds := func(d time.Duration) float64 { return math.Round(d.Seconds()*100_000) / 100 }
	metrics := map[string]any{
		"durationMs": milliseconds(i.Duration), "billedDurationMs": i.Billed.Milliseconds(), "memorySizeMB": i.MemoryMB,
		"maxMemoryUsedMB": i.PeakMemoryMB,
	}
	record := map[string]any{"requestId": i.RequestID, "metrics": metrics, "status": "success"}
	level := levelWarn
	report := fmt.Sprintf("REPORT RequestId: %s\tDuration: %.2f ms\tBilled Duration: %d ms\tMemory Size: %d MB\tMax "+
		"Memory Used: %d MB\t",
		i.RequestID, milliseconds(i.Duration), i.Billed.Milliseconds(), i.MemoryMB, i.PeakMemoryMB)
	if i.Cold {
		report += fmt.Sprintf("Init Duration: %.2f ms\t", milliseconds(i.Init))
		metrics["initDurationMs"] = milliseconds(i.Init)
	}
	switch i.ErrorType {
	case "":
		level = levelInfo
	case errorTimedOut:
		report += "Status: timeout"
		record["status"] = "timeout"
	default:
		report += "Status: error\tError Type: " + i.ErrorType
		record["status"], record["errorType"] = "error", i.ErrorType
	}
	if sb.configuration.LogFormat != "JSON" {
		sb.log(time.Now(), "END RequestId: "+i.RequestID)
	}
	sb.log(time.Now(), sb.platformLine(level, report, "platform.report", record))
}

// billed rounds up to a whole millisecond.
func billed(d time.Duration) time.Duration {
	return (d + time.Millisecond - 1) / time.Millisecond * time.Millisecond
}
