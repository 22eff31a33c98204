package main

import (
	"context"
	"log/slog"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/inventory"
)

// learned remembers what this container knows to be written down, so that a look at nodes that tell nothing new reads nothing.
type learned struct {
	mutex sync.Mutex
	known catalog.Learned
}

// news is what the nodes tell that the container does not know to be written down.
func (l *learned) news(h *handler, s *seen) *catalog.Learned {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	news := &catalog.Learned{}
	now := h.now()
	for i := range s.views {
		view := &s.views[i]
		claim := view.Claim
		if len(view.Nodes) != 1 || claim.DeletionTimestamp != nil || !api.ConditionTrue(claim.Status.Conditions, api.ConditionTypeRegistered) {
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

// learn writes down what memory the nodes that have registered have, for those that plan nodes of the same type and image. Until it is written the
// next look tries again: a failure costs the estimate's exactness and nothing else.
func (h *handler) learn(ctx context.Context, client kubernetes, s *seen) {
	news := h.learned.news(h, s)
	if len(news.Capacities) == 0 {
		return
	}
	known, err := inventory.PutLearned(ctx, client, news, h.now())
	if err != nil {
		slog.WarnContext(ctx, "what nodes have is not written down", "error", err)
		return
	}
	h.learned.remember(known)
	for key, capacity := range news.Capacities {
		slog.InfoContext(ctx, "learned capacity", "instance-type/image", key, "memory", capacity.Memory)
	}
}
