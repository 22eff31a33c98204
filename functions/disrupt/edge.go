package main

import (
	"context"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/observe"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"
	"github.com/whittle-dev/whittle/shared/planner/gang"
	"github.com/whittle-dev/whittle/shared/snapshot"
	"github.com/whittle-dev/whittle/shared/spread"
	"github.com/whittle-dev/whittle/shared/zonalshift"
)

// kubernetes is what disrupt reads and writes in the cluster. Writes that carry a resourceVersion
// return a conflict (cluster.IsConflict) when the object has changed, and not found
// (cluster.IsGone) when it has gone. Any call may be throttled; the next pass repeats it.
type kubernetes interface {
	// AcquireLease returns nil, and no error, while another invocation has the Lease.
	AcquireLease(ctx context.Context, name, holder string, now, deadline time.Time) (lease, error)
	CachedNodeClaims(context.Context) ([]api.NodeClaim, error)
	Objects(context.Context) (*snapshot.Objects, error)
	CertificateAuthority() []byte
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
	Record(ctx context.Context, event cluster.Event, now time.Time) error
	MarkUnavailable(ctx context.Context, marks *catalog.Unavailable, now time.Time) error
	// Catalog returns inventory.ErrNoCatalog before the function catalog has run.
	Catalog(ctx context.Context) (*catalog.Snapshot, error)
	// SpreadByDefault gives the pods their default topology spread.
	SpreadByDefault(ctx context.Context, pods []corev1.Pod) error
	// Without returns what the planner sees when the nodes of the claims leave.
	Without(
		ctx context.Context, objects *snapshot.Objects, seen *disruption.Snapshot, leaving []*api.NodeClaim, now time.Time,
	) (*plan.Snapshot, error)
}

// lease is the right of one invocation to disrupt nodes.
type lease interface {
	// Release succeeds for a Lease that another invocation has taken over.
	Release(context.Context) error
	// Fence returns a context whose writes end with the Lease (cluster.ErrLeaseEnded).
	Fence(context.Context) context.Context
}

// edge adds to the cluster's client what planning needs.
type edge struct {
	*cluster.Client
	preference plan.PreferencePolicy
	minValues  plan.MinValuesPolicy
	shifts     *zonalshift.Source // nil where zonal shifts are off
	// managedCosts says that disrupt writes the deletion costs of pods.
	managedCosts bool
	spread       spread.Defaults
	// virtual says whose virtual pods keep nodes.
	virtual observe.Virtual
}

func (e edge) AcquireLease(ctx context.Context, name, holder string, now, deadline time.Time) (lease, error) {
	held, err := e.Client.AcquireLease(ctx, name, holder, now, deadline)
	if err != nil || held == nil {
		return nil, err
	}
	return held, nil
}

// MarkUnavailable excludes the marked offerings from launches for a while.
func (e edge) MarkUnavailable(ctx context.Context, marks *catalog.Unavailable, now time.Time) error {
	return inventory.MarkUnavailable(ctx, e.Client, marks, now)
}

// Catalog returns the instance types with their prices.
func (e edge) Catalog(ctx context.Context) (*catalog.Snapshot, error) {
	return inventory.Catalog(ctx, e.Client)
}

// Objects reads everything at once, so that a plan is made for the pods that were seen on the
// nodes. It reads past the watch cache, because deletions are decided on it. Nodes in zones that are
// shifted away are marked, so that nothing ends them.
func (e edge) Objects(ctx context.Context) (*snapshot.Objects, error) {
	objects, err := observe.Objects(ctx, e.Client.Consistent())
	if err != nil {
		return nil, err
	}
	objects.ShieldShifted(e.shifts.Known(ctx, e.Client), time.Now())
	// Without the virtual pods their nodes would look empty, so that an error ends the pass.
	virtual, err := e.virtual.Bound(ctx, e.Client.Consistent(), objects, planner.Solve)
	objects.Pods = append(slices.Clip(objects.Pods), virtual...)
	return objects, err
}

// SpreadByDefault reads the selectors of services and controllers, where the setting is on.
func (e edge) SpreadByDefault(ctx context.Context, pods []corev1.Pod) error {
	return observe.Spread(ctx, e.Client, e.spread, pods)
}

// Without treats the pods of the claims' nodes as waiting, and likewise those of all nodes that are
// leaving already, for which provision has planned.
func (e edge) Without(
	ctx context.Context, objects *snapshot.Objects, seen *disruption.Snapshot, leaving []*api.NodeClaim, now time.Time,
) (*plan.Snapshot, error) {
	known, err := e.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	observed, err := inventory.Observed(ctx, e.Client, objects.NodeClaims, objects.NodeClasses)
	if err != nil {
		return nil, err
	}
	if e.shifts != nil {
		observed.Unavailable.Shifted = e.shifts.Known(ctx, e.Client)
	}
	without := snapshot.Without(objects, seen, leaving, now)
	// The offer's refusals are left out here: provision reports why a pool gets no nodes.
	made := gang.Keep(snapshot.NewOffer(without, known, observed, now).Assemble(without, now))
	snapshot.AddUnlaunched(made, without)
	made.PreferencePolicy, made.MinValuesPolicy = e.preference, e.minValues
	made.ManagedDeletionCosts = e.managedCosts
	return made, observe.Details(ctx, e.Client.Consistent(), made)
}
