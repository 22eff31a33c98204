package provision

import (
	"context"
	"log/slog"
	"time"

	"github.com/whittle-dev/whittle/shared/buffer"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/nodecost"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/sight"
	"github.com/whittle-dev/whittle/shared/status"
	"github.com/whittle-dev/whittle/shared/virtual"
)

// refillEvery is how often a plan is made for CapacityBuffers while no pod waits: Karpenter's 30 s.
// A pod that took the room of a buffer was bound at once, and no tick saw it wait.
const refillEvery = 30 * time.Second

// buffersDue reports whether a plan is due for CapacityBuffers: the first of a container, one for a
// buffer that nobody has looked at since it changed, or one after a while.
func (h *Handler) buffersDue(ctx context.Context, client *cluster.Client) (bool, error) {
	if !h.settings.CapacityBuffers {
		return false, nil
	}
	buffers, err := sight.OwnBuffers(ctx, client)
	if err != nil {
		return false, err
	}
	if len(buffers) == 0 {
		h.headroom.Store(nil)
		return false, nil
	}
	for i := range buffers {
		if !buffer.IsObserved(&buffers[i]) {
			return true, nil
		}
	}
	return h.refillDue(), nil
}

// refillDue reports whether this container's last plan for virtual pods is some time ago.
func (h *Handler) refillDue() bool {
	return h.now().Sub(time.Unix(0, h.refilled.Load())) >= refillEvery
}

// planned notes that a plan for virtual pods is made.
func (h *Handler) planned() { h.refilled.Store(h.now().UnixNano()) }

// writeBuffers writes what the plan has found for the buffers. Plans do not depend on it, so that a
// failure is only logged.
func (r *pass) writeBuffers(ctx context.Context, s *plan.Snapshot, outcome virtual.Outcome) {
	if len(r.view.Buffers) > 0 {
		prices := nodecost.Of(r.view.Catalog, s.NodeClasses, r.view.Objects.NodePools)
		shown := status.Headroom{Buffers: len(r.view.Buffers), Pods: len(buffer.Pods(r.view.Buffers))}
		shown.Placed, shown.PricePerHour = buffer.Headroom(outcome, r.view.Buffers, s.Nodes, prices.PriceOfClaim)
		r.headroom.Store(&shown)
	}
	for i := range r.view.Buffers {
		object := r.view.Buffers[i].Object
		wanted, changed := r.view.Buffers[i].Status(outcome, r.now())
		if !changed {
			continue
		}
		if err := r.client.PatchCapacityBufferStatus(ctx, object, buffer.Patch(wanted)); err != nil {
			slog.WarnContext(ctx, "the status of a capacitybuffer is not written",
				"CapacityBuffer", object.Namespace+"/"+object.Name, "error", err)
		}
	}
}
