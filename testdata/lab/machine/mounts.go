package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// managedAttachment is the annotation of a Node whose volumes the control plane attaches and
// detaches. Kubelets set it by default.
const managedAttachment = "volumes.kubernetes.io/controller-managed-attach-detach"

func hasClaims(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil })
}

// mounted reports the pod's volumes as in use, and returns whether all of them are attached.
func (k *kubelet) mounted(ctx context.Context, pod *corev1.Pod) (bool, error) {
	if !hasClaims(pod) {
		return true, nil
	}
	names, err := k.attachable(ctx, pod)
	if err != nil || len(names) == 0 {
		return err == nil, err
	}
	k.mu.Lock()
	k.mounts[pod.UID] = names
	k.mu.Unlock()
	node, err := k.reportVolumes(ctx)
	if err != nil {
		return false, err
	}
	for _, name := range names {
		if !slices.ContainsFunc(node.Status.VolumesAttached, func(v corev1.AttachedVolume) bool { return v.Name == name }) {
			return false, fmt.Errorf("volume %s is not attached", name)
		}
	}
	return true, nil
}

// unmount reports the pod's volumes as no longer in use. Kubernetes detaches them afterwards.
func (k *kubelet) unmount(ctx context.Context, pod *corev1.Pod) {
	k.mu.Lock()
	_, found := k.mounts[pod.UID]
	delete(k.mounts, pod.UID)
	k.mu.Unlock()
	for found {
		_, err := k.reportVolumes(ctx)
		if err == nil || !wait(ctx, registerRetry) {
			return
		}
		k.console.print("kubelet: unable to report the volumes in use: %v", err)
	}
}

// attachable returns the unique names of the pod's volumes of CSI drivers. Only those are attached.
func (k *kubelet) attachable(ctx context.Context, pod *corev1.Pod) ([]corev1.UniqueVolumeName, error) {
	var names []corev1.UniqueVolumeName
	for i := range pod.Spec.Volumes {
		source := pod.Spec.Volumes[i].PersistentVolumeClaim
		if source == nil {
			continue
		}
		claim, err := k.client.CoreV1().PersistentVolumeClaims(pod.Namespace).Get(ctx, source.ClaimName, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		volume, err := k.client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		if driver := volume.Spec.CSI; driver != nil {
			names = append(names, corev1.UniqueVolumeName("kubernetes.io/csi/"+driver.Driver+"^"+driver.VolumeHandle))
		}
	}
	return names, nil
}

// reportVolumes writes the volumes in use to the Node's status and returns the Node.
func (k *kubelet) reportVolumes(ctx context.Context) (*corev1.Node, error) {
	// The lock orders the reports, so that an older one cannot come last.
	k.reporting.Lock()
	defer k.reporting.Unlock()
	used := []corev1.UniqueVolumeName{}
	k.mu.Lock()
	for _, names := range k.mounts {
		used = append(used, names...)
	}
	k.mu.Unlock()
	slices.Sort(used)
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"volumesInUse": slices.Compact(used)}})
	if err != nil {
		return nil, err
	}
	return k.client.CoreV1().Nodes().Patch(ctx, k.nodeName, types.StrategicMergePatchType, patch, metav1.PatchOptions{},
		"status")
}
