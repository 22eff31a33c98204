package inventory

import (
	"context"
	"time"

	"github.com/whittle-dev/whittle/shared/catalog"
)

// CountInterruptions remembers what was seen beside the unavailable offerings, and returns the
// memory. It writes nothing where the stored memory lacks nothing of it, because another pass has
// counted it.
func CountInterruptions(
	ctx context.Context, store Store, seen catalog.SpotSeen, now time.Time,
) (*catalog.Interruptions, error) {
	var counted *catalog.Interruptions
	err := changeUnavailable(ctx, store, func(known *catalog.Unavailable) bool {
		if counted = known.Interruptions; !counted.Lacks(seen, now) {
			return false
		}
		counted = counted.With(seen, now)
		known.Prune(now)
		known.Interruptions = counted
		return true
	})
	return counted, err
}
