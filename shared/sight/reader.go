package sight

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/commitment"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/kubelet"
	"github.com/whittle-dev/whittle/shared/misfit"
	"github.com/whittle-dev/whittle/shared/spread"
)

// Reader reads what plans are made from. Cluster reads an API server, and Given has the objects of
// files. Functions put a layer over Cluster for what they know better, such as marks of this pass. An
// error may be tried again.
type Reader interface {
	ObjectReader
	FactReader
}

// ObjectReader lists Kubernetes' and Karpenter's objects.
type ObjectReader interface {
	Pods(context.Context) ([]corev1.Pod, error)
	Nodes(context.Context) ([]corev1.Node, error)
	NodeClaims(context.Context) ([]api.NodeClaim, error)
	NodePools(context.Context) ([]api.NodePool, error)
	NodeClasses(context.Context) ([]api.EC2NodeClass, error)
	NodeOverlays(context.Context) ([]api.NodeOverlay, error)
	CapacityQuotas(context.Context) ([]api.CapacityQuota, error)
	DaemonSets(context.Context) ([]appsv1.DaemonSet, error)
	LimitRanges(context.Context) ([]corev1.LimitRange, error)
	ResourceQuotas(context.Context) ([]corev1.ResourceQuota, error)
	PodDisruptionBudgets(context.Context) ([]policyv1.PodDisruptionBudget, error)
	PersistentVolumeClaims(context.Context) ([]corev1.PersistentVolumeClaim, error)
	PersistentVolumes(context.Context) ([]corev1.PersistentVolume, error)
	StorageClasses(context.Context) ([]storagev1.StorageClass, error)
	CSINodes(context.Context) ([]storagev1.CSINode, error)
	Namespaces(context.Context) ([]corev1.Namespace, error)
	PodGroups(context.Context) ([]api.PodGroup, error)
	CapacityBuffers(context.Context) ([]api.CapacityBuffer, error)
	ProvisioningRequests(context.Context) ([]api.ProvisioningRequest, error)
	// TemplateOf returns nil for an object that does not exist.
	TemplateOf(ctx context.Context, kind, namespace, name string) (*cluster.Template, error)
	// Selectors are those of one kind of object in a namespace, or in all for an empty one.
	Selectors(ctx context.Context, kind spread.Kind, namespace string) ([]spread.Selector, error)
	CertificateAuthority() []byte
}

// FactReader reads what Whittle knows of EC2 and remembers of the cluster.
type FactReader interface {
	// Catalog returns inventory.ErrNoCatalog before the function catalog has run.
	Catalog(context.Context) (*catalog.Catalog, error)
	Unavailable(context.Context) (*catalog.Unavailable, error)
	Learned(context.Context) (*catalog.Learned, error)
	Reservations(context.Context) (map[string]catalog.ReservationCount, error)
	// Commitments returns nil before they have been counted.
	Commitments(context.Context) (*commitment.Reading, error)
	// KubeletValues are needed for classes with expressions only.
	KubeletValues(context.Context, []api.EC2NodeClass) (kubelet.Evaluations, error)
	// Misfits are the known ones, by the pods' UIDs.
	Misfits(context.Context) (map[string]misfit.Misfit, error)
	// Shifted are the zones that zonal shifts move traffic away from, by id, with the shift's end.
	Shifted(context.Context) (map[string]time.Time, error)
}

// Cluster reads from an API server. It reads pools past the watch cache, because their limits and
// replicas decide which claims go, and they are few.
type Cluster struct{ *cluster.Client }

// NodePools reads past the watch cache. The pools have the cluster's order.
func (c Cluster) NodePools(ctx context.Context) ([]api.NodePool, error) {
	return inventory.PoolsWithOrder(ctx, c.Client, c.Consistent().NodePools)
}

// Catalog is inventory.Catalog.
func (c Cluster) Catalog(ctx context.Context) (*catalog.Catalog, error) {
	return inventory.Catalog(ctx, c.Client)
}

// Unavailable is inventory.Unavailable.
func (c Cluster) Unavailable(ctx context.Context) (*catalog.Unavailable, error) {
	return inventory.Unavailable(ctx, c.Client)
}

// Learned is inventory.Learned.
func (c Cluster) Learned(ctx context.Context) (*catalog.Learned, error) {
	return inventory.Learned(ctx, c.Client)
}

// Reservations is inventory.Reservations.
func (c Cluster) Reservations(ctx context.Context) (map[string]catalog.ReservationCount, error) {
	return inventory.Reservations(ctx, c.Client)
}

// Commitments is inventory.Commitments.
func (c Cluster) Commitments(ctx context.Context) (*commitment.Reading, error) {
	return inventory.Commitments(ctx, c.Client)
}

// KubeletValues is inventory.KubeletValuesOf.
func (c Cluster) KubeletValues(ctx context.Context, classes []api.EC2NodeClass) (kubelet.Evaluations, error) {
	return inventory.KubeletValuesOf(ctx, c.Client, classes)
}

// Misfits is inventory.Misfits.
func (c Cluster) Misfits(ctx context.Context) (map[string]misfit.Misfit, error) {
	return inventory.Misfits(ctx, c.Client)
}

// Shifted are the shifts that provision has written to the cluster. Functions ask ARC instead.
func (c Cluster) Shifted(ctx context.Context) (map[string]time.Time, error) {
	unavailable, err := c.Unavailable(ctx)
	if err != nil {
		return nil, err
	}
	return unavailable.Shifted, nil
}
