package sight

import (
	"context"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/commitment"
	"github.com/whittle-dev/whittle/shared/kubelet"
	"github.com/whittle-dev/whittle/shared/misfit"
	"github.com/whittle-dev/whittle/shared/snapshot"
	"github.com/whittle-dev/whittle/shared/spread"
)

// Given reads objects that the caller has, such as those of files. It has no facts about an account, so
// that it goes with a Market. The lists are copied, and readings may change what they return.
type Given struct {
	Known snapshot.Objects
	// Kinds that are no part of snapshot.Objects.
	Groups   []api.PodGroup
	Buffers  []api.CapacityBuffer
	Requests []api.ProvisioningRequest
	Quotas   []corev1.ResourceQuota
	// Spreads are the selectors of Services and of the controllers of pods.
	Spreads []spread.Selector
	// Template returns what a buffer or a request names, or nil. The func may be nil.
	Template func(kind, namespace, name string) *cluster.Template
}

// Pods returns the known pods.
func (g *Given) Pods(context.Context) ([]corev1.Pod, error) { return slices.Clone(g.Known.Pods), nil }

// Nodes returns the known nodes.
func (g *Given) Nodes(context.Context) ([]corev1.Node, error) {
	return slices.Clone(g.Known.Nodes), nil
}

// NodeClaims returns the known claims.
func (g *Given) NodeClaims(context.Context) ([]api.NodeClaim, error) {
	return slices.Clone(g.Known.NodeClaims), nil
}

// NodePools returns the known pools.
func (g *Given) NodePools(context.Context) ([]api.NodePool, error) {
	return slices.Clone(g.Known.NodePools), nil
}

// NodeClasses returns the known classes.
func (g *Given) NodeClasses(context.Context) ([]api.EC2NodeClass, error) {
	return slices.Clone(g.Known.NodeClasses), nil
}

// NodeOverlays returns the known overlays.
func (g *Given) NodeOverlays(context.Context) ([]api.NodeOverlay, error) {
	return g.Known.NodeOverlays, nil
}

// CapacityQuotas returns the known quotas of capacity.
func (g *Given) CapacityQuotas(context.Context) ([]api.CapacityQuota, error) {
	return g.Known.CapacityQuotas, nil
}

// DaemonSets returns the known daemon sets.
func (g *Given) DaemonSets(context.Context) ([]appsv1.DaemonSet, error) {
	return g.Known.DaemonSets, nil
}

// LimitRanges returns the known limit ranges.
func (g *Given) LimitRanges(context.Context) ([]corev1.LimitRange, error) {
	return g.Known.LimitRanges, nil
}

// ResourceQuotas returns the known quotas.
func (g *Given) ResourceQuotas(context.Context) ([]corev1.ResourceQuota, error) {
	return g.Quotas, nil
}

// PodDisruptionBudgets returns the known budgets.
func (g *Given) PodDisruptionBudgets(context.Context) ([]policyv1.PodDisruptionBudget, error) {
	return g.Known.PodDisruptionBudgets, nil
}

// PersistentVolumeClaims returns the known claims of volumes.
func (g *Given) PersistentVolumeClaims(context.Context) ([]corev1.PersistentVolumeClaim, error) {
	return g.Known.PersistentVolumeClaims, nil
}

// PersistentVolumes returns the known volumes.
func (g *Given) PersistentVolumes(context.Context) ([]corev1.PersistentVolume, error) {
	return g.Known.PersistentVolumes, nil
}

// StorageClasses returns the known storage classes.
func (g *Given) StorageClasses(context.Context) ([]storagev1.StorageClass, error) {
	return g.Known.StorageClasses, nil
}

// CSINodes returns the known CSI nodes.
func (g *Given) CSINodes(context.Context) ([]storagev1.CSINode, error) { return g.Known.CSINodes, nil }

// Namespaces returns the known namespaces.
func (g *Given) Namespaces(context.Context) ([]corev1.Namespace, error) {
	return g.Known.Namespaces, nil
}

// PodGroups returns the known groups.
func (g *Given) PodGroups(context.Context) ([]api.PodGroup, error) { return g.Groups, nil }

// CapacityBuffers returns the known buffers.
func (g *Given) CapacityBuffers(context.Context) ([]api.CapacityBuffer, error) {
	return slices.Clone(g.Buffers), nil
}

// ProvisioningRequests returns the known requests.
func (g *Given) ProvisioningRequests(context.Context) ([]api.ProvisioningRequest, error) {
	return slices.Clone(g.Requests), nil
}

// TemplateOf asks Template.
func (g *Given) TemplateOf(_ context.Context, kind, namespace, name string) (*cluster.Template, error) {
	if g.Template == nil {
		return nil, nil
	}
	return g.Template(kind, namespace, name), nil
}

// Selectors returns those of the kind in the namespace.
func (g *Given) Selectors(_ context.Context, kind spread.Kind, namespace string) ([]spread.Selector, error) {
	return slices.DeleteFunc(slices.Clone(g.Spreads), func(s spread.Selector) bool {
		return s.Kind != kind || namespace != "" && s.Namespace != namespace
	}), nil
}

// CertificateAuthority returns none.
func (g *Given) CertificateAuthority() []byte { return nil }

// Catalog returns nothing: a Market has the types.
func (g *Given) Catalog(context.Context) (*catalog.Catalog, error) { return nil, nil }

// Unavailable returns nothing.
func (g *Given) Unavailable(context.Context) (*catalog.Unavailable, error) { return nil, nil }

// Learned returns nothing.
func (g *Given) Learned(context.Context) (*catalog.Learned, error) { return nil, nil }

// Reservations returns nothing.
func (g *Given) Reservations(context.Context) (map[string]catalog.ReservationCount, error) {
	return nil, nil
}

// Commitments returns nothing.
func (g *Given) Commitments(context.Context) (*commitment.Reading, error) { return nil, nil }

// KubeletValues returns nothing.
func (g *Given) KubeletValues(context.Context, []api.EC2NodeClass) (kubelet.Evaluations, error) {
	return nil, nil
}

// Misfits returns nothing.
func (g *Given) Misfits(context.Context) (map[string]misfit.Misfit, error) { return nil, nil }

// Shifted returns nothing.
func (g *Given) Shifted(context.Context) (map[string]time.Time, error) { return nil, nil }
