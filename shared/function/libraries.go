package function

import (
	"context"
	"encoding/json"
	"log"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync/atomic"

	"k8s.io/klog/v2"
)

// reported is set while Lambda's library has still to print the error of an invocation that is in the log
// already.
var reported atomic.Bool

// captureLibraries lets the libraries that write to the standard log, or by klog, write lines of the
// default logger. Saved queries and alarms look for these.
func captureLibraries() {
	log.SetFlags(0)
	log.SetOutput(libraryOutput{})
	klog.SetSlogLogger(slog.New(libraryHandler{slog.Default().Handler()}))
}

// libraryOutput takes the standard log. Lambda's library prints the error of an invocation there, as JSON.
type libraryOutput struct{}

func (libraryOutput) Write(text []byte) (int, error) {
	line := strings.TrimSpace(string(text))
	var failure struct{ ErrorMessage, ErrorType string }
	isFailure := json.Unmarshal(text, &failure) == nil && failure.ErrorType+failure.ErrorMessage != ""
	switch {
	case isFailure && reported.Swap(false):
	case isFailure:
		slog.Error("invocation failed", "error", failure.ErrorMessage, "errorType", failure.ErrorType)
	case line != "":
		slog.Error("a library wrote to the log", "text", line)
	}
	return len(text), nil
}

// libraryHandler writes a library's lines under one message.
type libraryHandler struct{ slog.Handler }

func (h libraryHandler) Handle(ctx context.Context, record slog.Record) error {
	line := slog.NewRecord(record.Time, record.Level, "a library wrote to the log", record.PC)
	line.AddAttrs(slog.String("text", record.Message))
	record.Attrs(func(attribute slog.Attr) bool {
		line.AddAttrs(attribute)
		return true
	})
	return h.Handler.Handle(ctx, line)
}

func (h libraryHandler) WithAttrs(attributes []slog.Attr) slog.Handler {
	return libraryHandler{h.Handler.WithAttrs(attributes)}
}

func (h libraryHandler) WithGroup(name string) slog.Handler {
	return libraryHandler{h.Handler.WithGroup(name)}
}

// logged makes a handler that logs its errors and panics, each under a constant message, within the
// invocation that they belong to.
func logged[In, Out any](next Handler[In, Out]) Handler[In, Out] {
	return func(ctx context.Context, in In) (out Out, err error) {
		returned := false
		defer func() {
			if returned {
				return
			}
			failure := recover()
			slog.ErrorContext(ctx, "invocation panicked", "panic", failure, "stack", string(debug.Stack()))
			reported.Store(true)
			panic(failure)
		}()
		out, err = next(ctx, in)
		returned = true
		if err != nil {
			slog.ErrorContext(ctx, "invocation failed", "error", err)
			reported.Store(true)
		}
		return out, err
	}
}
