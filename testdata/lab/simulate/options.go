package simulate

import (
	"context"
	"io"
	"time"

	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/apiserver"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/engine"
)

// Handler answers one event of a function, in JSON.
type Handler func(ctx context.Context, event []byte) (answer []byte, err error)

// Starter starts a container of a function: it returns the real handler with the network, the clock and the
// variables of the container.
type Starter func(name string, deps function.Deps) (Handler, error)

// Options describe one simulation.
type Options struct {
	Seed uint64
	// Minutes is the virtual time. Nothing goes wrong in its last calm minutes.
	Minutes int
	// Start starts containers.
	Start Starter
	// Skip are the numbers of faults that do not happen, and Calm ends all faults. The shrinker sets them.
	Skip map[string]bool
	Calm bool
	// Pods is the most pods at a time; 0 leaves it to the seed.
	Pods int
	// Scene, if it is set, is told instead of the seed's story: it makes the NodePools, pods and
	// DaemonSets, and what happens to them. It is called when the cluster is ready, and no fault
	// happens then.
	Scene func(*apiserver.Store, *engine.Engine)
	// Live gets the lines of the trace at once, and Keep keeps them.
	Live io.Writer
	Keep bool
}

// calm is the time at the end in which nothing goes wrong. Whittle waits 15 minutes for a machine that
// never joins, and launches another one then.
const calm = 20 * time.Minute

// Result is what came of a simulation.
type Result struct {
	Seed uint64
	// Hash is equal for two simulations in which the same happened in the same order.
	Hash string
	// Violations are the broken invariants. The first one ends the simulation.
	Violations []string
	// Trace has one line for each call and each event, if Options.Keep is set.
	Trace []string
	// Faults are the names of the faults that happened, in order.
	Faults []string

	Calls, Invocations, Kills, Launches, Bound, Steps, Pods int
	Virtual                                                 time.Duration
	// Done counts calls by function, service and operation.
	Done map[string]int
}
