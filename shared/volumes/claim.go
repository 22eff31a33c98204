package volumes

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// claimName returns the name of the claim of a pod's volume, and whether it has one. The claim of a
// generic ephemeral volume is named after pod and volume.
// https://kubernetes.io/docs/concepts/storage/ephemeral-volumes/#persistentvolumeclaim-naming
func claimName(pod *corev1.Pod, volume *corev1.Volume) (string, bool) {
	switch {
	case volume.PersistentVolumeClaim != nil:
		return volume.PersistentVolumeClaim.ClaimName, true
	case volume.Ephemeral != nil:
		return pod.Name + "-" + volume.Name, true
	}
	return "", false
}

// claimOf returns the usable claim of the pod's volume number i. For an ephemeral volume without a
// claim it returns the claim that its template will create. The error gives the problem and its
// remedy.
func (index *Index) claimOf(pod *corev1.Pod, i int, name string) (*corev1.PersistentVolumeClaim, error) {
	ephemeral := pod.Spec.Volumes[i].Ephemeral
	key := claimKey(pod.Namespace, name)
	claim, ok := index.claims[key]
	if !ok {
		switch {
		case ephemeral == nil:
			return nil, fmt.Errorf(
				"PersistentVolumeClaim %q does not exist: create it, or correct spec.volumes[%d].persistentVolumeClaim.claimName",
				key, i,
			)
		case ephemeral.VolumeClaimTemplate == nil:
			return nil, fmt.Errorf("spec.volumes[%d].ephemeral.volumeClaimTemplate is missing: give the claim's template", i)
		}
		return fromTemplate(pod, name, ephemeral.VolumeClaimTemplate), nil
	}
	if ephemeral != nil && !isOwnedBy(claim, pod) {
		return nil, fmt.Errorf(
			"PersistentVolumeClaim %q has the name that this ephemeral volume's claim needs, but was not made for the pod "+
				"(metadata.ownerReferences): rename the volume or the claim",
			key,
		)
	}
	if claim.DeletionTimestamp != nil {
		return nil, fmt.Errorf(
			"PersistentVolumeClaim %q is being deleted (metadata.deletionTimestamp): create it anew once it is gone",
			key,
		)
	}
	if claim.Status.Phase == corev1.ClaimLost {
		return nil, fmt.Errorf(
			"PersistentVolumeClaim %q has lost its PersistentVolume %q (status.phase is Lost): restore the volume, or "+
				"delete the claim and create it anew",
			key, claim.Spec.VolumeName,
		)
	}
	return claim, nil
}

// isOwnedBy reports whether the claim was made for the pod. A pod from a manifest has no UID, so
// its name decides.
func isOwnedBy(claim *corev1.PersistentVolumeClaim, pod *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(claim)
	if owner == nil {
		return false
	}
	if pod.UID == "" {
		return owner.Kind == "Pod" && owner.Name == pod.Name
	}
	return owner.UID == pod.UID
}

// fromTemplate returns the claim that will be created for an ephemeral volume.
func fromTemplate(
	pod *corev1.Pod, name string, template *corev1.PersistentVolumeClaimTemplate,
) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	claim.Namespace, claim.Name = pod.Namespace, name
	return claim
}
