package machine

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// runningStatus is the status of a pod with completed init containers and ready containers.
func runningStatus(pod *corev1.Pod, started metav1.Time, podIP, hostIP string) corev1.PodStatus {
	now := metav1.Now()
	status := baseStatus(corev1.PodRunning, started, podIP, hostIP)
	for _, c := range pod.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			status.InitContainerStatuses = append(status.InitContainerStatuses,
				running(c, now, pod.Status.InitContainerStatuses)) // a sidecar
		} else {
			status.InitContainerStatuses = append(status.InitContainerStatuses, completed(c, started, now, false))
		}
	}
	for _, c := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, running(c, now, pod.Status.ContainerStatuses))
	}
	status.Conditions = conditions(now, corev1.ConditionTrue, "")
	return status
}

// endedStatus is the status of a pod whose containers have exited without an error.
func endedStatus(pod *corev1.Pod, started metav1.Time, podIP, hostIP string) corev1.PodStatus {
	now := metav1.Now()
	status := baseStatus(corev1.PodSucceeded, started, podIP, hostIP)
	for _, c := range pod.Spec.InitContainers {
		status.InitContainerStatuses = append(status.InitContainerStatuses, completed(c, started, now, false))
	}
	for _, c := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, completed(c, started, now, true))
	}
	status.Conditions = conditions(now, corev1.ConditionFalse, "PodCompleted")
	return status
}

func baseStatus(phase corev1.PodPhase, started metav1.Time, podIP, hostIP string) corev1.PodStatus {
	status := corev1.PodStatus{Phase: phase, StartTime: &started, HostIP: hostIP, HostIPs: []corev1.HostIP{{IP: hostIP}}}
	if podIP != "" {
		status.PodIP, status.PodIPs = podIP, []corev1.PodIP{{IP: podIP}}
	}
	return status
}

// running is a container that has just started. One that ran before, when the machine rebooted, counts
// that as a restart.
func running(c corev1.Container, now metav1.Time, before []corev1.ContainerStatus) corev1.ContainerStatus {
	yes, restarts := true, int32(0)
	for i := range before {
		if before[i].Name == c.Name && before[i].State.Running != nil {
			restarts = before[i].RestartCount + 1
		}
	}
	return corev1.ContainerStatus{
		Name: c.Name, Image: c.Image, ImageID: c.Image, ContainerID: "containerd://simulated-" + c.Name, Ready: true,
		Started: &yes, RestartCount: restarts,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
	}
}

// completed is a container that ended. An init container that did is ready, another one is not.
func completed(c corev1.Container, started, ended metav1.Time, main bool) corev1.ContainerStatus {
	no := false
	return corev1.ContainerStatus{
		Name: c.Name, Image: c.Image, ImageID: c.Image, ContainerID: "containerd://simulated-" + c.Name, Ready: !main,
		Started: &no,
		State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: started, FinishedAt: ended},
		},
	}
}

func conditions(now metav1.Time, ready corev1.ConditionStatus, reason string) []corev1.PodCondition {
	condition := func(kind corev1.PodConditionType, status corev1.ConditionStatus, reason string) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Status: status, Reason: reason, LastTransitionTime: now}
	}
	return []corev1.PodCondition{
		condition(corev1.PodReadyToStartContainers, ready, ""),
		condition(corev1.PodInitialized, corev1.ConditionTrue, ""),
		condition(corev1.PodReady, ready, reason),
		condition(corev1.ContainersReady, ready, reason),
		condition(corev1.PodScheduled, corev1.ConditionTrue, ""),
	}
}
