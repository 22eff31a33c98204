package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclaim"
	"github.com/whittle-dev/whittle/shared/inventory"
)

// errFrozen ends the steps of a claim that a freeze holds.
var errFrozen = errors.New("a freeze holds it")

// freezes holds the steps of a pass by what people have frozen.
type freezes struct {
	recent *inventory.RecentFreezes
	now    func() time.Time
}

func newFreezes(store inventory.Store, now func() time.Time) freezes {
	return freezes{inventory.NewRecentFreezes(store, now), now}
}

// held says which freeze holds the step, or nothing. Where it cannot be read, it holds what is
// voluntary.
func (f freezes) held(ctx context.Context, hold nodeclaim.Hold) string {
	if !hold.Voluntary {
		return ""
	}
	known, err := f.recent.Read(ctx)
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
func (f freezes) require(ctx context.Context, step nodeclaim.Step) error {
	held := f.held(ctx, nodeclaim.HoldOf(step))
	if held == "" {
		return nil
	}
	return fmt.Errorf("%w: %s", errFrozen, held)
}
