package function

import (
	"io"
	"net/http"
	"os"
	"time"
)

// Deps are what a function takes from its surroundings. The zero value is for Lambda. A simulation
// gives its own. Nothing else in a function reads the time or the environment, or opens a
// connection.
//
// Three things stay those of the process. Contexts and timers end by Go's own clock: see Remaining.
// The AWS SDK reads its own variables, such as the credentials, and signs with Go's clock. The log
// is slog.Default, which Run sets.
type Deps struct {
	// Now returns the time; nil for that of the system.
	Now func() time.Time
	// Transport carries the requests to AWS and to the cluster; nil for the network.
	Transport http.RoundTripper
	// Getenv returns an environment variable, and an empty string for one that is unset; nil for
	// the variables of the process.
	Getenv func(name string) string
	// Output gets the metrics, one line each; nil for the standard output, which Lambda copies to
	// the function's log.
	Output io.Writer
}

// Clock returns the clock.
func (d Deps) Clock() func() time.Time {
	if d.Now == nil {
		return time.Now
	}
	return d.Now
}

// wallClock returns the clock without its monotonic part, which may stand still while Lambda freezes
// the container. What a container remembers would then count for hours.
func (d Deps) wallClock() func() time.Time {
	now := d.Clock()
	return func() time.Time { return now().Round(0) }
}

// Settings reads the function's variables.
func (d Deps) Settings() *Settings { return SettingsFrom(d.getenv) }

func (d Deps) getenv(name string) string {
	if d.Getenv == nil {
		return os.Getenv(name)
	}
	return d.Getenv(name)
}

func (d Deps) output() io.Writer {
	if d.Output == nil {
		return os.Stdout
	}
	return d.Output
}
