package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/inventory"
)

// kubernetes is what interrupt reads and writes in the cluster.
type kubernetes interface {
	SelectNodeClaims(ctx context.Context, selector labels.Selector, cached bool) ([]api.NodeClaim, error)
	Node(ctx context.Context, name string, cached bool) (*corev1.Node, error)
	PatchNode(ctx context.Context, name string, patch map[string]any) error
	PatchNodeClaim(ctx context.Context, name string, patch map[string]any) (*api.NodeClaim, error)
	DeleteNodeClaim(ctx context.Context, name string, uid types.UID) error
	MarkUnavailable(ctx context.Context, marks *catalog.Unavailable, now time.Time) error
	Record(ctx context.Context, event cluster.Event, now time.Time) error
}

// edge is the cluster's client with the list of unavailable offerings.
type edge struct{ *cluster.Client }

// markedLong is for how much longer an offering that is marked needs no new mark. In a
// storm many nodes of an offering go, and who would all write the same meet each other.
const markedLong = catalog.UnavailableFor / 2

// MarkUnavailable leaves the marked offerings out of launches for a while.
func (e edge) MarkUnavailable(ctx context.Context, marks *catalog.Unavailable, now time.Time) error {
	known, err := inventory.Unavailable(ctx, e.Client)
	if err != nil {
		return err
	}
	for key := range marks.Until {
		if known.Until[key].Sub(now) < markedLong {
			return inventory.MarkUnavailable(ctx, e.Client, marks, now)
		}
	}
	return nil
}
