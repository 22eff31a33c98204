package schedulertest

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// csiDriver is the driver of all volumes that are not local.
const csiDriver = "ebs.csi.aws.com"

// volume is a number of PersistentVolumeClaims. With a zone or a host each is bound to a volume.
// Otherwise each waits for its first consumer.
type volume struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
	// Count numbers the claims' names from 0. Without it there is one claim, with the plain name.
	Count int    `json:"count,omitempty"`
	Class string `json:"class,omitempty"`
	// Zone is the zone of the bound volume.
	Zone string `json:"zone,omitempty"`
	// Host is the node whose local disk is the bound volume.
	Host string `json:"host,omitempty"`
}

// bound reports whether the claims have volumes.
func (v *volume) bound() bool { return v.Zone != "" || v.Host != "" }

// claims returns the group's claims. A bound claim names its volume.
func (v *volume) claims() []*corev1.PersistentVolumeClaim {
	var made []*corev1.PersistentVolumeClaim
	for n := range cmp.Or(v.Count, 1) {
		name := v.Name
		if v.Count > 0 {
			name = fmt.Sprintf("%s-%d", v.Name, n)
		}
		claim := &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: cmp.Or(v.Namespace, metav1.NamespaceDefault), Name: name},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				StorageClassName: &v.Class,
				Resources: corev1.VolumeResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
				},
			},
		}
		if v.bound() {
			claim.Spec.VolumeName = "volume-" + claim.Name
		}
		made = append(made, claim)
	}
	return made
}

// volume returns the volume that the claim is bound to.
func (v *volume) volume(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
	made := volumeFor(claim, api.LabelTopologyZoneEBS, v.Zone)
	if v.Host != "" {
		made = volumeFor(claim, corev1.LabelHostname, v.Host)
		made.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{
			Local: &corev1.LocalVolumeSource{Path: "/mnt/disk"},
		}
	}
	made.Name = claim.Spec.VolumeName
	return made
}

// volumeFor returns a volume for the claim. Nodes with the label can reach it.
func volumeFor(claim *corev1.PersistentVolumeClaim, key, value string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: provisionedName(claim)},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes: claim.Spec.AccessModes, Capacity: claim.Spec.Resources.Requests,
			StorageClassName:              *claim.Spec.StorageClassName,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			ClaimRef: &corev1.ObjectReference{
				Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: csiDriver, VolumeHandle: strings.Join([]string{"vol", claim.Namespace, claim.Name}, "-"),
			}},
			NodeAffinity: &corev1.VolumeNodeAffinity{
				Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{
						{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}},
					},
				}}},
			},
		},
	}
}

// provisionedName returns the name of the volume that the provisioner creates for the claim.
func provisionedName(claim *corev1.PersistentVolumeClaim) string { return "made-" + string(claim.UID) }

// csiNode returns the CSINode that has the node's limits of attached volumes.
func csiNode(node *corev1.Node, limits map[string]int32) *storagev1.CSINode {
	made := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node.Name, OwnerReferences: []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID,
	}}}}
	for driver, limit := range limits {
		made.Spec.Drivers = append(made.Spec.Drivers, storagev1.CSINodeDriver{
			Name: driver, NodeID: node.Name, TopologyKeys: []string{api.LabelTopologyZoneEBS},
			Allocatable: &storagev1.VolumeNodeResources{Count: &limit},
		})
	}
	return made
}
