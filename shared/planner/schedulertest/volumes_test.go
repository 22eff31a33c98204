package schedulertest

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

const (
	// csiDriver is that of all volumes that are not local.
	csiDriver = "ebs.csi.aws.com"
	// selectedNodeAnnotation is how the scheduler tells the provisioner where a claim's first consumer
	// goes.
	selectedNodeAnnotation = "volume.kubernetes.io/selected-node"
)

// createVolumes makes the claims, and the volumes of those that are bound, and waits until the
// controller has joined them.
func (c *cluster) createVolumes(ctx context.Context, groups []volume) error {
	bound := 0
	for i := range groups {
		group := &groups[i]
		for n := range cmp.Or(group.Count, 1) {
			claim := group.claim(n)
			if group.Zone != "" || group.Host != "" {
				bound++
				claim.Spec.VolumeName = "volume-" + claim.Name
				if err := c.create(ctx, volumes, "", group.volume(claim)); err != nil {
					return err
				}
			}
			if err := c.create(ctx, claims, claim.Namespace, claim); err != nil {
				return err
			}
		}
	}
	if bound == 0 {
		return nil
	}
	return wait(ctx, "the claims were bound to their volumes", func(ctx context.Context) (bool, error) {
		var list corev1.PersistentVolumeClaimList
		if err := c.list(ctx, claims, &list); err != nil {
			return false, err
		}
		left := bound
		for i := range list.Items {
			if list.Items[i].Status.Phase == corev1.ClaimBound {
				left--
			}
		}
		return left == 0, nil
	})
}

// claim is the n-th of the group; a group of one has no number in its name.
func (v *volume) claim(n int) *corev1.PersistentVolumeClaim {
	name, class := v.Name, v.Class
	if v.Count > 0 {
		name = fmt.Sprintf("%s-%d", v.Name, n)
	}
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: cmp.Or(v.Namespace, metav1.NamespaceDefault), Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: &class,
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			},
		},
	}
}

// volume is the one that the claim is bound to.
func (v *volume) volume(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
	made := volumeFor(claim, api.LabelTopologyZoneEBS, v.Zone)
	made.Name = claim.Spec.VolumeName
	if v.Host != "" {
		made = volumeFor(claim, corev1.LabelHostname, v.Host)
		made.Name = claim.Spec.VolumeName
		made.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/mnt/disk"}}
	}
	return made
}

// volumeFor is a volume for the claim that nodes with the label can reach.
func volumeFor(claim *corev1.PersistentVolumeClaim, key, value string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: madeVolume(claim)},
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

// madeVolume is the name of a volume that is made for the claim's first consumer.
func madeVolume(claim *corev1.PersistentVolumeClaim) string { return "made-" + string(claim.UID) }

// provision plays the storage driver's provisioner: a claim whose consumer has been given a node
// gets a volume in that node's zone.
func (c *cluster) provision(ctx context.Context) error {
	var list corev1.PersistentVolumeClaimList
	if err := c.list(ctx, claims, &list); err != nil {
		return err
	}
	for i := range list.Items {
		claim := &list.Items[i]
		selected := claim.Annotations[selectedNodeAnnotation]
		if selected == "" || claim.Spec.VolumeName != "" {
			continue
		}
		var node corev1.Node
		if err := c.rest.Get().AbsPath(nodes.path("", selected)).Do(ctx).Into(&node); err != nil {
			return err
		}
		made := volumeFor(claim, api.LabelTopologyZoneEBS, node.Labels[api.LabelTopologyZoneEBS])
		if err := c.create(ctx, volumes, "", made); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// csiNode says how many volumes the node attaches.
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
