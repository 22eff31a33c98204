package report

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/whittle-dev/whittle/functions/console/printable"
	"github.com/whittle-dev/whittle/shared/sight"
)

// how says how a pod is on its node, and whether it runs. No node can help one that waits there.
func how(pod *corev1.Pod) (text string, well bool) {
	if pod.DeletionTimestamp != nil {
		return fmt.Sprintf("it is ending on node %q", pod.Spec.NodeName), false
	}
	for _, container := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if waits := container.State.Waiting; waits != nil && waits.Reason != "" && waits.Reason != "PodInitializing" {
			text := fmt.Sprintf("it is on node %q, where its container %q waits: %s", pod.Spec.NodeName, container.Name,
				printable.Line(waits.Reason))
			if waits.Message != "" {
				text += " (" + printable.Short(printable.Line(waits.Message), messageLength) + ")"
			}
			return text, false
		}
	}
	if pod.Status.Phase == corev1.PodPending {
		return fmt.Sprintf("it starts on node %q", pod.Spec.NodeName), false
	}
	return fmt.Sprintf("it runs on node %q", pod.Spec.NodeName), true
}

// messageLength is the most characters of a message of others.
const messageLength = 200

// awaitedVolume says which volume a pod waits for, or "". The scheduler binds the volumes of a pod before the
// pod, and nominates its node meanwhile.
func awaitedVolume(pod *corev1.Pod, view *sight.View) string {
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		name := ""
		switch {
		case volume.PersistentVolumeClaim != nil:
			name = volume.PersistentVolumeClaim.ClaimName
		case volume.Ephemeral != nil:
			name = pod.Name + "-" + volume.Name
		default:
			continue
		}
		claims := view.Snapshot.PersistentVolumeClaims
		at := slices.IndexFunc(claims, func(c corev1.PersistentVolumeClaim) bool {
			return c.Namespace == pod.Namespace && c.Name == name
		})
		if at < 0 && view.Snapshot.Unread.Volumes {
			return fmt.Sprintf("it waits for the volume of the PersistentVolumeClaim %q", name)
		}
		if at < 0 {
			return fmt.Sprintf("it waits for the PersistentVolumeClaim %q, which does not exist", name)
		}
		if claims[at].Spec.VolumeName == "" {
			return fmt.Sprintf("it waits for the volume of the PersistentVolumeClaim %q%s", name, lacking(&claims[at], view))
		}
	}
	return ""
}

// lacking says what keeps a claim from its volume, as far as the cluster's objects tell.
func lacking(claim *corev1.PersistentVolumeClaim, view *sight.View) string {
	if claim.Spec.StorageClassName == nil || *claim.Spec.StorageClassName == "" {
		return ": it names no StorageClass, and no PersistentVolume fits"
	}
	classes := view.Snapshot.StorageClasses
	at := slices.IndexFunc(classes, func(c storagev1.StorageClass) bool { return c.Name == *claim.Spec.StorageClassName })
	if at < 0 {
		return fmt.Sprintf(": its StorageClass %q does not exist", *claim.Spec.StorageClassName)
	}
	driver := classes[at].Provisioner
	has := slices.ContainsFunc(view.Snapshot.CSINodes, func(n storagev1.CSINode) bool {
		return slices.ContainsFunc(n.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == driver })
	})
	if !has && len(view.Snapshot.CSINodes) > 0 {
		return fmt.Sprintf(": no node has the CSI driver %s of its StorageClass %q: install the driver, such as the EKS "+
			"add-on", driver, classes[at].Name)
	}
	return fmt.Sprintf(": the driver %s of its StorageClass %q has not made it yet: see the events of the claim", driver,
		classes[at].Name)
}
