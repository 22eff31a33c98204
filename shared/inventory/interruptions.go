package inventory

import (
	"context"
	"time"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
)

// SpotSeen is what lifecycle saw of the cluster's spot nodes.
type SpotSeen struct {
	// Interrupted are nodes that EC2 takes back. They may be counted already.
	Interrupted []catalog.SpotNode
	// Nodes are all spot nodes, or none where only some are known.
	Nodes []catalog.SpotNode
}

// hoursEvery is how often the hours of nodes are added.
const hoursEvery = time.Hour

// NeedsCount reports whether the memory lacks an interruption, or the hours since its last count.
func NeedsCount(known *catalog.Interruptions, seen SpotSeen, now time.Time) bool {
	for _, node := range seen.Interrupted {
		if !known.Knows(node.UID) {
			return true
		}
	}
	return len(seen.Nodes) > 0 && (known == nil || now.Sub(known.Time) >= hoursEvery)
}

// CountInterruptions remembers what was seen beside the unavailable offerings, and returns the memory. It
// writes only where NeedsCount says so of what is stored.
func CountInterruptions(
	ctx context.Context, client *cluster.Client, seen SpotSeen, now time.Time,
) (*catalog.Interruptions, error) {
	var counted *catalog.Interruptions
	err := changeUnavailable(ctx, client, func(known *catalog.Unavailable) bool {
		if counted = known.Interruptions; !NeedsCount(counted, seen, now) {
			return false
		}
		counted = counted.Clone()
		if len(seen.Nodes) > 0 && now.Sub(counted.Time) >= hoursEvery {
			counted.AddHours(seen.Nodes, now)
		}
		counted.AddInterrupted(seen.Interrupted, now)
		known.Prune(now)
		known.Interruptions = counted
		return true
	})
	return counted, err
}
