package inventory

import (
	"context"
	"maps"
	"time"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
)

// PutShifted replaces the zones that are shifted away, by their ids, beside the unavailable
// offerings. It writes only when they differ, and returns those that were known before.
func PutShifted(
	ctx context.Context, client *cluster.Client, shifted map[string]time.Time, now time.Time,
) (before map[string]time.Time, err error) {
	err = changeUnavailable(ctx, client, func(known *catalog.Unavailable) bool {
		known.Prune(now)
		before = maps.Clone(known.Shifted)
		if maps.EqualFunc(before, shifted, time.Time.Equal) {
			return false
		}
		known.Shifted = shifted
		return true
	})
	return before, err
}
