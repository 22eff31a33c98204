package main

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// kubernetes is what disrupt reads and writes in the cluster.
type kubernetes interface {
	AcquireLease(ctx context.Context, name, holder string, now, deadline time.Time) (lease, error)
	CachedNodeClaims(context.Context) ([]api.NodeClaim, error)
	Objects(context.Context) (*snapshot.Objects, error)
	CertificateAuthority() []byte
	PodsOnNode(ctx context.Context, node, version string) ([]corev1.Pod, error)
	PatchNode(ctx context.Context, name string, patch map[string]any) error
	PatchNodeClaim(ctx context.Context, name string, patch map[string]any) (*api.NodeClaim, error)
	PatchNodeClaimStatus(ctx context.Context, name string, patch map[string]any) (*api.NodeClaim, error)
	CreateNodeClaim(ctx context.Context, claim *api.NodeClaim) (*api.NodeClaim, error)
	DeploymentOf(ctx context.Context, pod *corev1.Pod) (*appsv1.Deployment, error)
	AnnotatePodTemplate(ctx context.Context, deployment *appsv1.Deployment, key string, at time.Time) error
	DeleteNodeClaim(ctx context.Context, name string, uid types.UID) error
	Record(ctx context.Context, event cluster.Event, now time.Time) error
	MarkUnavailable(ctx context.Context, marks *catalog.Unavailable, now time.Time) error
	Catalog(ctx context.Context) (*catalog.Snapshot, error)
	Without(ctx context.Context, objects *snapshot.Objects, seen *disruption.Snapshot, leaving []*api.NodeClaim, now time.Time) (*plan.Snapshot, error)
}

// lease is the right of one invocation to take nodes away.
type lease interface {
	Release(context.Context) error
}

// edge is the client with what it takes to plan.
type edge struct {
	*cluster.Client
	preference plan.PreferencePolicy
	minValues  plan.MinValuesPolicy
}

// MarkUnavailable leaves the marked offerings out of launches for a while.
func (e edge) MarkUnavailable(ctx context.Context, marks *catalog.Unavailable, now time.Time) error {
	return inventory.MarkUnavailable(ctx, e.Client, marks, now)
}

// Catalog is what instance types there are, and what they cost.
func (e edge) Catalog(ctx context.Context) (*catalog.Snapshot, error) {
	return inventory.Catalog(ctx, e.Client)
}

// AcquireLease returns nil, and no error, while another holder has the lease.
func (e edge) AcquireLease(ctx context.Context, name, holder string, now, deadline time.Time) (lease, error) {
	held, err := e.Client.AcquireLease(ctx, name, holder, now, deadline)
	if err != nil || held == nil {
		return nil, err
	}
	return held, nil
}
