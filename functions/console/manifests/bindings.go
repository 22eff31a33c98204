package manifests

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// bindCompleted is the annotation with which the volume controller ends a binding.
const bindCompleted = "pv.kubernetes.io/bind-completed"

// bindVolumes binds claims that name their volume, as the volume controller does: people keep such pairs
// in files without a status.
func (r *reader) bindVolumes() {
	volumes := map[string]*corev1.PersistentVolume{}
	for i := range r.manifests.PersistentVolumes {
		volumes[r.manifests.PersistentVolumes[i].Name] = &r.manifests.PersistentVolumes[i]
	}
	for i := range r.manifests.PersistentVolumeClaims {
		claim := &r.manifests.PersistentVolumeClaims[i]
		volume := volumes[claim.Spec.VolumeName]
		if volume == nil || claim.Status.Phase != "" || volume.Status.Phase != "" || !fits(volume, claim) {
			continue
		}
		claim.Annotations = maps.Clone(claim.Annotations)
		if claim.Annotations == nil {
			claim.Annotations = map[string]string{}
		}
		claim.Annotations[bindCompleted] = "yes"
		claim.Status.Phase, volume.Status.Phase = corev1.ClaimBound, corev1.VolumeBound
		volume.Spec.ClaimRef = &corev1.ObjectReference{
			Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
		}
	}
}

// fits reports whether the volume may be the claim's.
func fits(volume *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) bool {
	class := ""
	if claim.Spec.StorageClassName != nil {
		class = *claim.Spec.StorageClassName
	}
	wanted, size := claim.Spec.Resources.Requests[corev1.ResourceStorage], volume.Spec.Capacity[corev1.ResourceStorage]
	reserved := volume.Spec.ClaimRef
	return (reserved == nil || reserved.Namespace == claim.Namespace && reserved.Name == claim.Name) &&
		class == volume.Spec.StorageClassName && size.Cmp(wanted) >= 0 &&
		!slices.ContainsFunc(claim.Spec.AccessModes, func(mode corev1.PersistentVolumeAccessMode) bool {
			return !slices.Contains(volume.Spec.AccessModes, mode)
		})
}
