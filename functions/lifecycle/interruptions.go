package lifecycle

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/membership"
)

// interruptions is the memory of interruptions that this container has read or written last. A pass
// that adds nothing to it reads and writes nothing. It is safe for concurrent use.
type interruptions struct {
	mutex sync.Mutex
	known *catalog.Interruptions
}

func (i *interruptions) lacks(seen catalog.SpotSeen, now time.Time) bool {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	return i.known.Lacks(seen, now)
}

func (i *interruptions) remember(known *catalog.Interruptions) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.known = known
}

// countInterruptions counts the spot nodes that EC2 takes back, and on ticks the hours of all, for
// the prices of the next plans. After a failure the next pass tries again: a node goes on to say
// that it is interrupted.
func (h *Handler) countInterruptions(ctx context.Context, store inventory.Store, s *seen) {
	now := h.now()
	spot := spotSeen(s)
	if !h.interruptions.lacks(spot, now) {
		return
	}
	known, err := inventory.CountInterruptions(ctx, store, spot, now)
	if err != nil {
		slog.WarnContext(ctx, "interruptions are not counted", "error", err)
		return
	}
	h.interruptions.remember(known)
}

// spotSeen is what the pass has seen of spot nodes. Only a tick sees all of them. A node's word
// that it is interrupted counts where its claim is deleted, which interrupt does and a kubelet
// cannot.
func spotSeen(s *seen) catalog.SpotSeen {
	var spot catalog.SpotSeen
	members := membership.Join(s.claims, s.nodes)
	for i := range s.claims {
		claim := &s.claims[i]
		node := catalog.SpotNode{UID: string(claim.UID), Pool: catalog.SpotPoolKey(claim.Labels)}
		if node.Pool == "" || claim.Status.ProviderID == "" || !claim.Spec.NodeClassRef.IsEC2NodeClass() {
			continue
		}
		if s.tick {
			spot.Nodes = append(spot.Nodes, node)
		}
		joined := members.Node(claim)
		if joined != nil && claim.DeletionTimestamp != nil &&
			joined.Annotations[api.InterruptedAnnotationKey] == api.EventReasonSpotInterrupted {
			spot.Interrupted = append(spot.Interrupted, node)
		}
	}
	return spot
}
