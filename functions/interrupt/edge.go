package interrupt

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/freeze"
	"github.com/whittle-dev/whittle/shared/inventory"
)

// kubernetes is the part of the cluster that interrupt reads and writes. Every method may return
// an error of the API server, such as a throttled request, after which the message comes back.
// cluster.IsGone recognizes an object that does not exist, and cluster.IsConflict one that has
// changed since it was read.
type kubernetes interface {
	// SelectNodeClaims lists claims from the watch cache or from the store. No match is no error.
	SelectNodeClaims(ctx context.Context, selector labels.Selector, cached bool) ([]api.NodeClaim, error)
	// Node reads one node from the watch cache or from the store. Its error may be gone.
	Node(ctx context.Context, name string, cached bool) (*corev1.Node, error)
	// PatchNode merges a patch with a resourceVersion. Its error may be gone or a conflict.
	PatchNode(ctx context.Context, name string, patch map[string]any) error
	// PatchNodeClaim merges a patch and returns the claim as it is then. Its error may be gone.
	PatchNodeClaim(ctx context.Context, name string, patch map[string]any) (*api.NodeClaim, error)
	// DeleteNodeClaim orders the claim's end. A claim that is gone, or has another UID, is no error.
	DeleteNodeClaim(ctx context.Context, name string, uid types.UID) error
	// Unavailable reads the offerings that are left out of launches.
	Unavailable(ctx context.Context) (*catalog.Unavailable, error)
	// MarkUnavailable adds offerings to those that are left out of launches.
	MarkUnavailable(ctx context.Context, marks *catalog.Unavailable, now time.Time) error
	// Order writes a freeze or a thaw where people write theirs, and says what comes of it. An error for which
	// freeze.IsRefused holds needs no retry.
	Order(ctx context.Context, order freeze.Order, now time.Time) (says string, err error)
	cluster.EventRecorder
}

// edge is the cluster's client with the list of unavailable offerings.
type edge struct{ *cluster.Client }

// Order writes a freeze or a thaw into the ConfigMap of people's orders.
func (e edge) Order(ctx context.Context, order freeze.Order, now time.Time) (string, error) {
	return inventory.Order(ctx, e.Client, order, now)
}

// Unavailable reads the offerings that are left out of launches.
func (e edge) Unavailable(ctx context.Context) (*catalog.Unavailable, error) {
	return inventory.Unavailable(ctx, e.Client)
}

// MarkUnavailable adds offerings to those that are left out of launches.
func (e edge) MarkUnavailable(ctx context.Context, marks *catalog.Unavailable, now time.Time) error {
	return inventory.MarkUnavailable(ctx, e.Client, marks, now)
}
