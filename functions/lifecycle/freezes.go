package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclaim"
	"github.com/whittle-dev/whittle/shared/freeze"
	"github.com/whittle-dev/whittle/shared/inventory"
)

// freezesLast is how long a reading of what people have frozen counts. A drain has an eviction for each pod, and
// a reading for each would double its calls.
const freezesLast = time.Second

// errFrozen ends the steps of a claim that a freeze holds.
var errFrozen = errors.New("a freeze holds it")

// freezes reads what people have frozen, for the steps of a pass.
type freezes struct {
	store inventory.Store
	now   func() time.Time

	mutex sync.Mutex
	read  time.Time // when the reading began; zero before the first
	known *freeze.Freezes
}

// of reads the freezes, unless the last reading still counts. A reading that failed does not.
func (f *freezes) of(ctx context.Context) (*freeze.Freezes, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	now := f.now()
	if !f.read.IsZero() && now.Sub(f.read) < freezesLast {
		return f.known, nil
	}
	known, err := inventory.Freezes(ctx, f.store)
	if err != nil {
		return nil, err
	}
	f.read, f.known = now, known
	return known, nil
}

// held says which freeze holds the step, or nothing. Where it cannot be read, it holds what is voluntary.
func (f *freezes) held(ctx context.Context, hold nodeclaim.Hold) string {
	if !hold.Voluntary {
		return ""
	}
	known, err := f.of(ctx)
	if err != nil {
		slog.WarnContext(ctx, "freezes are not read: voluntary disruption waits", "NodeClaim", hold.Claim.Name, "error", err)
		return "what people have frozen is not read"
	}
	if held := hold.Holds(known, f.now()); held != nil {
		return held.String()
	}
	return ""
}

// require returns errFrozen for a step that a freeze holds.
func (f *freezes) require(ctx context.Context, step nodeclaim.Step) error {
	held := f.held(ctx, nodeclaim.HoldOf(step))
	if held == "" {
		return nil
	}
	return fmt.Errorf("%w: %s", errFrozen, held)
}
