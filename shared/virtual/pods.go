package virtual

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/scheduling"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// Of is a waiting pod as the template would make it in a namespace, without what a pod that never
// starts has no use for: annotations, volumes of claims, and devices that a claim is made for.
// Containers without requests get those of the namespace's LimitRanges.
func Of(
	template *corev1.PodTemplateSpec, namespace string, created metav1.Time, ranges []corev1.LimitRange,
) corev1.Pod {
	spec := *template.Spec.DeepCopy()
	scheduling.SetRequestsFromLimits(&spec)
	snapshot.SetDefaultRequests(&spec, namespace, ranges)
	spec.NodeName, spec.SchedulingGates = "", nil
	spec.Volumes = slices.DeleteFunc(spec.Volumes, func(volume corev1.Volume) bool {
		return volume.PersistentVolumeClaim != nil || volume.Ephemeral != nil
	})
	spec.ResourceClaims = slices.DeleteFunc(spec.ResourceClaims, func(claim corev1.PodResourceClaim) bool {
		return claim.ResourceClaimTemplateName != nil
	})
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Labels: template.Labels, CreationTimestamp: created},
		Spec:       spec,
		Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}},
	}
}

// Copies returns that many equal pods, which share memory. Their names are the name with a number
// from one. The identity is that of what they are for, and no other has it.
func Copies(pod corev1.Pod, name, identity string, count int) []corev1.Pod {
	pods := make([]corev1.Pod, count)
	for i := range pods {
		pods[i] = pod
		pods[i].Name = fmt.Sprintf("%s-%d", name, i+1)
		pods[i].UID = types.UID(fmt.Sprintf("%s%s-%d", scheduling.VirtualUIDPrefix, identity, i+1))
	}
	return pods
}
