package reaction

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/whittle-dev/whittle/shared/function"
)

// LeaseName is the Lease of the one watch of a cluster.
const LeaseName = "whittle-watch"

// startsIn is how long a watch that was invoked may take until it has its Lease. A container looks no
// more often whether one runs.
const startsIn = 10 * time.Second

// startLimit bounds the time for starting a watch. A VPC without a way to Lambda's API answers
// nothing.
const startLimit = 3 * time.Second

// Request is the event of the function watch.
type Request struct {
	// Predecessor is the holder of the Lease that hands the watch over. It is empty for a watch that
	// begins.
	Predecessor string `json:"predecessor,omitempty"`
}

// Mode says when a watch runs.
type Mode string

// The modes. In the mode poll no function watch exists.
const (
	Adaptive Mode = "adaptive" // while there is work
	Always   Mode = "always"
)

// Settings are those of the watch, which several functions have.
type Settings struct {
	Function string // the watch's name; empty in the mode poll
	Mode     Mode
	// QuietAfter is how long work counts as recent. An adaptive watch ends after that time without
	// any.
	QuietAfter time.Duration
}

// ReadSettings reads WATCH_FUNCTION, REACTION and QUIET_AFTER.
func ReadSettings(settings *function.Settings) Settings {
	quiet := function.Parsed(settings, "QUIET_AFTER", "write a duration such as 5m, 10s at least", parseQuiet)
	return Settings{
		Function:   settings.Optional("WATCH_FUNCTION"),
		Mode:       function.Choice(settings, "REACTION", Adaptive, Always),
		QuietAfter: cmp.Or(quiet, defaultQuiet),
	}
}

const (
	defaultQuiet = 5 * time.Minute
	leastQuiet   = 10 * time.Second // less would end watches while instances boot
)

func parseQuiet(text string) (time.Duration, error) {
	quiet, err := time.ParseDuration(text)
	if err == nil && quiet < leastQuiet {
		err = fmt.Errorf("%s is less than %s", quiet, leastQuiet)
	}
	return quiet, err
}

// IsRecent reports whether something happened so short a time ago that more may follow. A pod that
// fits nowhere, or a drain that waits for hours, is no reason to watch.
func (s Settings) IsRecent(then, now time.Time) bool { return now.Sub(then) < s.QuietAfter }

// Invoker invokes functions.
type Invoker interface {
	Invoke(context.Context, *lambda.InvokeInput, ...func(*lambda.Options)) (*lambda.InvokeOutput, error)
}

// Invoke starts the watch without waiting for its end. Every error may be tried again; a watch that
// meets another one ends at once.
func Invoke(ctx context.Context, client Invoker, name string, request Request) error {
	payload, err := json.Marshal(request)
	if err != nil {
		return err
	}
	_, err = client.Invoke(ctx, &lambda.InvokeInput{
		FunctionName: &name, InvocationType: lambdatypes.InvocationTypeEvent, Payload: payload,
	})
	if err != nil {
		return fmt.Errorf("invoking function %q: %w", name, err)
	}
	return nil
}

// Starter starts a watch where none runs. A nil Starter starts none. It is safe for concurrent use.
type Starter struct {
	Settings
	client Invoker

	mutex sync.Mutex
	asked time.Time // when this container last looked whether a watch runs
}

// NewStarter returns a Starter, and nil in the mode poll.
func NewStarter(config aws.Config, settings Settings) *Starter {
	if settings.Function == "" {
		return nil
	}
	return NewStarterFor(lambda.NewFromConfig(config), settings)
}

// NewStarterFor returns a Starter that invokes the function by the client.
func NewStarterFor(client Invoker, settings Settings) *Starter {
	return &Starter{Settings: settings, client: client}
}

// Leases tells who holds a Lease.
type Leases interface {
	LeaseHeld(ctx context.Context, name string, now time.Time) (bool, error)
}

// IsRecent is that of the settings. A nil Starter takes nothing for recent.
func (s *Starter) IsRecent(then, now time.Time) bool {
	return s != nil && s.Settings.IsRecent(then, now)
}

// IsAlways reports whether a watch runs without work too.
func (s *Starter) IsAlways() bool { return s != nil && s.Mode == Always }

// Start starts a watch unless one runs. It reports no error, because the ticks go on without a
// watch.
func (s *Starter) Start(ctx context.Context, leases Leases, now time.Time) {
	if s == nil {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if now.Sub(s.asked) < startsIn {
		return
	}
	s.asked = now.Round(0)
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	held, err := leases.LeaseHeld(ctx, LeaseName, now)
	if err == nil && !held {
		err = Invoke(ctx, s.client, s.Function, Request{})
	}
	if err != nil {
		slog.WarnContext(ctx, "no watch is started: changes wait for the next tick", "error", err)
	}
}
