package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/inventory"
)

// kubernetes is what interrupt reads and writes in the cluster.
type kubernetes interface {
	NodeClaims(context.Context) ([]api.NodeClaim, error)
	Nodes(context.Context) ([]corev1.Node, error)
	Node(ctx context.Context, name string) (*corev1.Node, error)
	PatchNode(ctx context.Context, name string, patch map[string]any) error
	PatchNodeClaim(ctx context.Context, name string, patch map[string]any) (*api.NodeClaim, error)
	DeleteNodeClaim(ctx context.Context, name string, uid types.UID) error
	MarkUnavailable(ctx context.Context, marks *catalog.Unavailable, now time.Time) error
	Record(ctx context.Context, event cluster.Event, now time.Time) error
}

// edge is the cluster's client with the list of unavailable offerings.
type edge struct{ *cluster.Client }

// MarkUnavailable leaves the marked offerings out of launches for a while.
func (e edge) MarkUnavailable(ctx context.Context, marks *catalog.Unavailable, now time.Time) error {
	return inventory.MarkUnavailable(ctx, e.Client, marks, now)
}
