package disrupt

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/freeze"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/release"
	"github.com/whittle-dev/whittle/shared/sight"
	"github.com/whittle-dev/whittle/shared/zonalshift"
)

// kubernetes is what disrupt reads and writes in the cluster. Writes that carry a resourceVersion
// return a conflict (cluster.IsConflict) when the object has changed, and not found
// (cluster.IsGone) when it has gone. Any call may be throttled; the next pass repeats it.
type kubernetes interface {
	// AcquireLease returns nil, and no error, while another invocation has the Lease.
	AcquireLease(ctx context.Context, name, holder string, now, deadline time.Time) (lease, error)
	HasNodeClaims(context.Context) (bool, error)
	// Reader reads the fleet past the watch cache.
	Reader() sight.Reader
	PodsOnNode(ctx context.Context, node, version string) ([]corev1.Pod, error)
	PatchNode(ctx context.Context, name string, patch map[string]any) error
	PatchNodeClaim(ctx context.Context, name string, patch map[string]any) (*api.NodeClaim, error)
	PatchNodeClaimStatus(ctx context.Context, name string, patch map[string]any) (*api.NodeClaim, error)
	AnnotatePod(ctx context.Context, pod *corev1.Pod, annotations map[string]any) error
	// CreateNodeClaim returns a conflict when a claim of that name exists.
	CreateNodeClaim(ctx context.Context, claim *api.NodeClaim) (*api.NodeClaim, error)
	// DeploymentOf returns nil for a pod of no Deployment. It returns cluster.IsForbidden in a
	// namespace that has not given the right to restart.
	DeploymentOf(ctx context.Context, pod *corev1.Pod) (*appsv1.Deployment, error)
	// AnnotatePodTemplate returns cluster.IsForbidden like DeploymentOf.
	AnnotatePodTemplate(ctx context.Context, deployment *appsv1.Deployment, key string, at time.Time) error
	// DeleteUnchangedNodeClaim returns a conflict when the claim has changed since it was read. It
	// succeeds for a claim that has gone.
	DeleteUnchangedNodeClaim(ctx context.Context, claim *api.NodeClaim) error
	// Freezes reads, past every cache, what people have frozen.
	Freezes(ctx context.Context) (*freeze.Freezes, error)
	// ReleaseOrders reads, past every cache, what people have ordered about releases.
	ReleaseOrders(ctx context.Context) (release.Orders, error)
	Releases(ctx context.Context) (map[string]release.Record, error)
	RememberReleases(ctx context.Context, records map[string]release.Record) error
	Record(ctx context.Context, event cluster.Event, now time.Time) error
	MarkUnavailable(ctx context.Context, marks *catalog.Unavailable, now time.Time) error
}

// lease is the right of one invocation to disrupt nodes.
type lease interface {
	// Release succeeds for a Lease that another invocation has taken over.
	Release(context.Context) error
	// Fence returns a context whose writes end with the Lease (cluster.ErrLeaseEnded).
	Fence(context.Context) context.Context
}

// edge adds to the cluster's client what disrupt needs.
type edge struct {
	*cluster.Client
	shifts *zonalshift.Source // nil where zonal shifts are off
}

// Reader reads past the watch cache.
func (e edge) Reader() sight.Reader {
	return reader{Cluster: sight.Cluster{Client: e.Consistent()}, shifts: e.shifts}
}

func (e edge) AcquireLease(ctx context.Context, name, holder string, now, deadline time.Time) (lease, error) {
	held, err := e.Client.AcquireLease(ctx, name, holder, now, deadline)
	if err != nil || held == nil {
		return nil, err
	}
	return held, nil
}

// Freezes reads the ConfigMap as it is stored.
func (e edge) Freezes(ctx context.Context) (*freeze.Freezes, error) {
	return inventory.Freezes(ctx, e.Client)
}

// ReleaseOrders reads the ConfigMap as it is stored.
func (e edge) ReleaseOrders(ctx context.Context) (release.Orders, error) {
	return inventory.ReleaseOrders(ctx, e.Client)
}

// Releases reads what earlier passes have remembered of releases.
func (e edge) Releases(ctx context.Context) (map[string]release.Record, error) {
	return inventory.Releases(ctx, e.Client)
}

// RememberReleases writes it for later passes.
func (e edge) RememberReleases(ctx context.Context, records map[string]release.Record) error {
	return inventory.RememberReleases(ctx, e.Client, records)
}

// MarkUnavailable excludes the marked offerings from launches for a while.
func (e edge) MarkUnavailable(ctx context.Context, marks *catalog.Unavailable, now time.Time) error {
	return inventory.MarkUnavailable(ctx, e.Client, marks, now)
}
