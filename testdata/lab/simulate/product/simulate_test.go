package product_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/whittle-dev/whittle/functions/catalog"
	"github.com/whittle-dev/whittle/functions/console"
	"github.com/whittle-dev/whittle/functions/disrupt"
	"github.com/whittle-dev/whittle/functions/install"
	"github.com/whittle-dev/whittle/functions/interrupt"
	"github.com/whittle-dev/whittle/functions/lifecycle"
	"github.com/whittle-dev/whittle/functions/provision"
	"github.com/whittle-dev/whittle/functions/ticker"
	"github.com/whittle-dev/whittle/functions/watch"
	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/testdata/lab/simulate"
)

// program makes the handler of a container.
type program func(context.Context, function.Deps) (simulate.Handler, error)

// programs are the functions that the simulation runs, by name.
func programs() map[string]program {
	return map[string]program{
		"catalog": of(catalog.New), "console": of(console.New), "disrupt": of(disrupt.New), "install": of(install.New),
		"interrupt": of(interrupt.New), "lifecycle": of(nominating), "provision": of(provision.New), "ticker": of(ticker.New),
		"watch": of(watch.New),
	}
}

// nominating makes lifecycle with places for all nominations at once. Go's scheduler would decide which of
// the claims that compete for fewer places gets one.
func nominating(ctx context.Context, deps function.Deps) (*lifecycle.Handler, error) {
	handler, err := lifecycle.New(ctx, deps)
	if err == nil {
		handler.Nominations = 1000
	}
	return handler, err
}

// of makes the program of a function, whose events and answers Lambda passes as JSON.
func of[In, Out any, H interface {
	Handle(context.Context, In) (Out, error)
}](create func(context.Context, function.Deps) (H, error)) program {
	return func(ctx context.Context, deps function.Deps) (simulate.Handler, error) {
		handler, err := create(ctx, deps)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, event []byte) ([]byte, error) {
			var in In
			if err := json.Unmarshal(event, &in); err != nil {
				return nil, err
			}
			out, err := handler.Handle(ctx, in)
			if err != nil {
				return nil, err
			}
			return json.Marshal(out)
		}, nil
	}
}

func start(name string, deps function.Deps) (simulate.Handler, error) {
	create, known := programs()[name]
	if !known {
		return nil, fmt.Errorf("the simulation has no function %q", name)
	}
	return create(context.Background(), deps)
}

// number reads a variable of the command.
func number(t *testing.T, name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	value, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s is %q and no number", name, text)
	}
	return value
}

// simulated runs one simulation in a bubble of its own.
func simulated(t *testing.T, options simulate.Options) (result simulate.Result) {
	options.Start = start
	t.Run(fmt.Sprint(options.Seed), func(t *testing.T) {
		cryptotest.SetGlobalRandom(t, options.Seed)
		synctest.Test(t, func(*testing.T) { result = simulate.Simulate(options) })
	})
	result.Violations = append(result.Violations, faults.take()...)
	return result
}

// faults are what plans said about defects in the simulation that runs.
var faults said

// said keeps the errors of log lines about plans with a fault: a panic of the planner, or details that
// nobody had read for a pod. The plan leaves such pods out, so that no other invariant need break.
type said struct {
	mutex sync.Mutex
	lines []string
}

func (s *said) take() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	lines := s.lines
	s.lines = nil
	return lines
}

// listening is a log that notes faults of plans.
type listening struct{ slog.Handler }

func (l listening) Handle(ctx context.Context, record slog.Record) error {
	if record.Level == slog.LevelError && record.Message == "the plan leaves pods out because of a defect" {
		record.Attrs(func(attribute slog.Attr) bool {
			faults.mutex.Lock()
			defer faults.mutex.Unlock()
			faults.lines = append(faults.lines, "a plan has a fault: "+attribute.Value.String())
			return true
		})
	}
	return l.Handler.Handle(ctx, record)
}

// quiet keeps the functions' logs from the output.
func quiet() {
	logs := io.Discard
	if os.Getenv("SIMULATE_LOGS") != "" {
		logs = os.Stderr
	}
	slog.SetDefault(slog.New(listening{slog.NewJSONHandler(logs, &slog.HandlerOptions{Level: slog.LevelDebug})}))
}

// TestSimulate is the command: it runs the seeds from the first one, and writes one line of JSON for each
// into SIMULATE_RESULTS. It ends with the first seed that violates an invariant, which it shrinks if it
// should.
func TestSimulate(t *testing.T) {
	file := os.Getenv("SIMULATE_RESULTS")
	if file == "" {
		t.Skip("this is for make simulate")
	}
	results, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer results.Close()
	quiet()
	first, step := number(t, "SIMULATE_SEED", 1), number(t, "SIMULATE_STEP", 1)
	began, limit := time.Now(), time.Duration(number(t, "SIMULATE_SECONDS", 1<<30))*time.Second
	options := simulate.Options{Minutes: virtualMinutes, Keep: os.Getenv("SIMULATE_TRACE") != ""}
	if os.Getenv("SIMULATE_LIVE") != "" {
		options.Live = os.Stderr
	}
	for n := range number(t, "SIMULATE_SEEDS", 1) {
		if time.Since(began) > limit {
			return
		}
		options.Seed = uint64(first + n*step)
		result := simulated(t, options)
		if len(result.Violations) > 0 && os.Getenv("SIMULATE_SHRINK") != "" {
			_, result = simulate.Shrink(options, func(options simulate.Options) simulate.Result {
				return simulated(t, options)
			})
		}
		line, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := results.Write(append(line, '\n')); err != nil {
			t.Fatal(err)
		}
		if len(result.Violations) > 0 && os.Getenv("SIMULATE_GO_ON") == "" {
			return
		}
	}
}

// virtualMinutes is the virtual time of one simulation.
const virtualMinutes = 38
