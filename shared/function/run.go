package function

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"strconv"

	"github.com/aws/aws-lambda-go/lambda"
)

// Handler answers one event.
type Handler[In, Out any] func(context.Context, In) (Out, error)

// Run serves the handler to Lambda. With `-event FILE` it handles the one event in the file
// instead, and prints the answer; - reads standard input. A person can so try a function, or handle
// a message of a dead-letter queue again.
//
// A function makes what needs only the environment before Run, and passes the error. It makes what
// needs the network in the handler. A failure there is the error of an invocation, which Lambda
// retries, and not a crash.
func Run[In, Out any](handler Handler[In, Out], err error) {
	slog.SetDefault(newLogger(os.Stderr, os.Getenv))
	captureLibraries()
	limitMemory()
	file := flag.String(
		"event", "", "handle the one event in this `file` (- for standard input), print the answer and exit")
	flag.Parse()
	if err == nil && *file == "" {
		lambda.Start(logged(handler))
		return
	}
	if err == nil {
		err = once(handler, *file)
	}
	if err != nil {
		slog.Error("function failed", "error", err)
		os.Exit(1)
	}
}

// memoryShare is the part of a function's memory at which Go collects garbage whatever it costs.
// The program takes a part beside it, and a quarter stays spare: Lambda ends a process that takes
// more than it has.
const memoryShare = 0.7

// garbage is how much garbage may gather before it is collected, in percent of the memory in use.
// The memory is paid for in any case, and so is the collector's time. With Go's default of 100 the
// collector takes a fifth of a long plan's time.
const garbage = 400

// limitMemory sets the garbage collector's limit, because Go does not know how much memory Lambda
// gives. GOMEMLIMIT and GOGC override it.
func limitMemory() {
	size := memorySize(os.Getenv)
	if size == 0 || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetMemoryLimit(int64(float64(size) * memoryShare))
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
}

// memorySize is the function's memory in bytes, or 0 outside of Lambda.
func memorySize(getenv func(name string) string) int {
	megabytes, err := strconv.Atoi(getenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE"))
	if err != nil || megabytes <= 0 {
		return 0
	}
	return megabytes << 20
}

func once[In, Out any](handler Handler[In, Out], file string) error {
	source := os.Stdin
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return fmt.Errorf("reading the event: %w", err)
		}
		defer opened.Close()
		source = opened
	}
	var event In
	if err := json.NewDecoder(source).Decode(&event); err != nil {
		return fmt.Errorf("event %q is not the JSON that this function takes: %w", file, err)
	}
	answer, err := handler(context.Background(), event)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", "  ")
	return encoder.Encode(answer)
}
