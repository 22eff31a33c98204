package simulate

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// pod returns the workload's next pod.
func (l *workload) pod() *corev1.Pod {
	controller := true
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: podName(l), Namespace: metav1.NamespaceDefault, Labels: map[string]string{"app": l.name},
		Annotations: map[string]string{},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "ReplicaSet", Name: l.name, UID: "00000000-0000-4000-8000-00000000aaaa",
			Controller: &controller,
		}},
	}}
	if l.kept {
		pod.Annotations[api.DoNotDisruptAnnotationKey] = "true"
	}
	pod.Spec.NodeSelector = map[string]string{}
	if l.capacity != "" {
		pod.Spec.NodeSelector[api.CapacityTypeLabelKey] = l.capacity
	}
	if l.zone != "" {
		pod.Spec.NodeSelector[corev1.LabelTopologyZone] = l.zone
	}
	if l.name == lateName {
		pod.Spec.NodeSelector[lateLabel] = lateName
		pod.Spec.Tolerations = []corev1.Toleration{{Key: lateLabel, Operator: corev1.TolerationOpExists}}
	}
	if l.gang {
		pod.Labels[api.PodGroupLabelKey] = l.name
	}
	if l.oneZone {
		pod.Annotations[api.RequiredTopologyAnnotationKey] = corev1.LabelTopologyZone
	}
	if l.spread {
		pod.Spec.TopologySpreadConstraints = spreadOver(l, corev1.LabelTopologyZone, corev1.DoNotSchedule)
	}
	if l.prefers != "" {
		pod.Spec.TopologySpreadConstraints = spreadOver(l, l.prefers, corev1.ScheduleAnyway)
	}
	if l.instanceType != "" && l.made%2 == 0 {
		pod.Spec.NodeSelector[corev1.LabelInstanceTypeStable] = l.instanceType
	}
	grace, seconds := l.grace, int64(300)
	pod.Spec.TerminationGracePeriodSeconds = &grace
	pod.Spec.SchedulerName = corev1.DefaultSchedulerName
	for _, taint := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
			Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds,
		})
	}
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "pause", Resources: size(l.cpu, l.memory)}}
	pod.Status.Phase = corev1.PodPending
	l.manners.apply(pod)
	return pod
}

// size is what a container asks for: millicores and MiB.
func size(cpu, memory int64) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(cpu, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(memory<<20, resource.BinarySI),
	}}
}

func requests(pod *corev1.Pod) (cpu, memory int64) {
	for i := range pod.Spec.Containers {
		wanted := pod.Spec.Containers[i].Resources.Requests
		cpu, memory = cpu+wanted.Cpu().MilliValue(), memory+wanted.Memory().Value()
	}
	return cpu, memory
}

// setCondition gives the pod a condition, and reports whether it is new.
func setCondition(pod *corev1.Pod, kind corev1.PodConditionType, status corev1.ConditionStatus, reason string,
	now metav1.Time) bool {
	for i := range pod.Status.Conditions {
		if condition := &pod.Status.Conditions[i]; condition.Type == kind {
			if condition.Status == status && condition.Reason == reason {
				return false
			}
			condition.Status, condition.Reason, condition.LastTransitionTime = status, reason, now
			return true
		}
	}
	pod.Status.Conditions = append(pod.Status.Conditions,
		corev1.PodCondition{Type: kind, Status: status, Reason: reason, LastTransitionTime: now})
	return true
}

func podReady(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == corev1.PodReady {
			return pod.Status.Conditions[i].Status == corev1.ConditionTrue
		}
	}
	return false
}
