package snapshot

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// Objects are the objects of a cluster that planning reads, as the API server returns them. Each
// kind is complete; Assemble selects.
type Objects struct {
	Pods                 []corev1.Pod
	Nodes                []corev1.Node
	NodeClaims           []api.NodeClaim
	NodePools            []api.NodePool
	NodeClasses          []api.EC2NodeClass
	DaemonSets           []appsv1.DaemonSet
	LimitRanges          []corev1.LimitRange
	PodDisruptionBudgets []policyv1.PodDisruptionBudget
	// Namespaces are needed where NeedsNamespaces, and the objects of volumes where NeedsVolumes.
	Namespaces             []corev1.Namespace
	PersistentVolumeClaims []corev1.PersistentVolumeClaim
	PersistentVolumes      []corev1.PersistentVolume
	StorageClasses         []storagev1.StorageClass
	CSINodes               []storagev1.CSINode
	NodeOverlays           []api.NodeOverlay
	CapacityQuotas         []api.CapacityQuota
}
