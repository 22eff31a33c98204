package lifecycle

import (
	"context"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/inventory"
)

// learned is what this container knows to be written down. A pass whose nodes add nothing to it
// reads and writes nothing. It is safe for concurrent use.
type learned struct {
	mutex sync.Mutex
	known catalog.Learned
}

// news are the capacities that are not known to be written down.
func (l *learned) news(s *seen, now time.Time) *catalog.Learned {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	news := &catalog.Learned{}
	for i := range s.views {
		view := &s.views[i]
		claim := view.Claim
		registered := api.ConditionTrue(claim.Status.Conditions, api.ConditionTypeRegistered)
		if len(view.Nodes) != 1 || claim.DeletionTimestamp != nil || !registered {
			continue
		}
		memory := view.Nodes[0].Status.Capacity[corev1.ResourceMemory]
		one := &catalog.Learned{}
		one.Observe(claim.Labels[corev1.LabelInstanceTypeStable], claim.Status.ImageID, memory.Value(), now)
		if l.known.Tells(one) {
			news.Merge(one)
		}
	}
	return news
}

func (l *learned) remember(known *catalog.Learned) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.known = *known
}

// learn writes down the memory of registered nodes, for plans with the same instance type and
// image. After a failure the next pass tries again, and plans go on with an estimate.
func (h *Handler) learn(ctx context.Context, client kubernetes, s *seen) {
	news := h.learned.news(s, h.now())
	if len(news.Capacities) == 0 {
		return
	}
	known, err := inventory.PutLearned(ctx, client, news, h.now())
	if err != nil {
		slog.WarnContext(ctx, "learned capacity not written", "error", err)
		return
	}
	h.learned.remember(known)
	for key, capacity := range news.Capacities {
		slog.InfoContext(ctx, "learned capacity", "instance-type/image", key, "memory", capacity.Memory)
	}
}
