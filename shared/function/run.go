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

// Run serves the handler to Lambda. With `-event FILE` it handles the one event
// in the file instead (- reads standard input) and prints the answer: the way to
// try a function, or to replay what a dead-letter queue holds.
//
// What is made from the environment alone is made before Run; what needs the
// network is made in the handler, so that a failure is an invocation's error,
// which is retried, and not a crash.
func Run[In, Out any](handler Handler[In, Out], err error) {
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	limitMemory()
	file := flag.String("event", "", "handle the one event in this `file` (- for standard input), print the answer and exit")
	flag.Parse()
	if err == nil && *file == "" {
		lambda.Start(handler)
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

// memoryShare is the part of a function's memory that Go may fill before it
// collects garbage at all costs; the rest is the program itself and the runtime's
// own. Lambda ends a process that takes more than it has.
const memoryShare = 0.8

// garbage is how much of it may gather, in percent of what is in use, before it is
// collected, as long as there is memory: that is paid for whether it is used or
// not, and so is the time of the collector, a fifth of a long plan's by Go's own 100.
const garbage = 400

// limitMemory tells the garbage collector how much memory Lambda gives, which it
// cannot see. GOMEMLIMIT and GOGC override it.
func limitMemory() {
	megabytes, err := strconv.Atoi(os.Getenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE"))
	if err != nil || megabytes <= 0 || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetMemoryLimit(int64(float64(megabytes<<20) * memoryShare))
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
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
