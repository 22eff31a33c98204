package kubelet

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// status is what the kubelet writes about the pod.
func (p *pod) status(at Moment) *corev1.PodStatus {
	s := &corev1.PodStatus{Phase: p.phase(), QOSClass: p.seen.Status.QOSClass}
	if p.refusal.reason != "" {
		s.Reason, s.Message = p.refusal.reason, "Pod was rejected: "+p.refusal.message
		return s
	}
	s.StartTime = p.seen.Status.StartTime
	if s.StartTime == nil {
		started := metav1.NewTime(p.since)
		s.StartTime = &started
	}
	if at.HostIP != "" {
		s.HostIP, s.HostIPs = at.HostIP, []corev1.HostIP{{IP: at.HostIP}}
	}
	if p.ip != "" && p.begun > 0 {
		s.PodIP, s.PodIPs = p.ip, []corev1.PodIP{{IP: p.ip}}
	}
	var incomplete, unready []string
	for _, c := range p.containers {
		status := c.status(len(p.seen.Spec.InitContainers) > 0)
		switch c.role {
		case regular:
			s.ContainerStatuses = append(s.ContainerStatuses, status)
		default:
			s.InitContainerStatuses = append(s.InitContainerStatuses, status)
			if c.role == initial && !c.ready || c.role == sidecar && !c.started {
				incomplete = append(incomplete, c.spec.Name)
			}
		}
		if c.role != initial && !c.ready {
			unready = append(unready, c.spec.Name)
		}
	}
	p.conditions = p.judge(s.Phase, incomplete, unready, metav1.NewTime(at.Now))
	s.Conditions = p.conditions
	return s
}

// phase is the pod's phase, by the rules of the kubelet's getPhase.
func (p *pod) phase() corev1.PodPhase {
	if !p.over.IsZero() {
		for _, c := range p.containers {
			if c.role == regular && (c.now == nil || c.now.ExitCode != 0) {
				return corev1.PodFailed
			}
		}
		return corev1.PodSucceeded
	}
	for _, c := range p.containers {
		if c.role == regular && c.runs == 0 {
			return corev1.PodPending
		}
	}
	return corev1.PodRunning
}

// judge returns the conditions that are the kubelet's own.
func (p *pod) judge(phase corev1.PodPhase, incomplete, unready []string, now metav1.Time) []corev1.PodCondition {
	var found []corev1.PodCondition
	add := func(kind corev1.PodConditionType, is bool, reason, message string) {
		c := corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now}
		if !is {
			c.Status, c.Message = corev1.ConditionFalse, message
		}
		if !is || phase == corev1.PodSucceeded {
			c.Reason = reason
		}
		at := slices.IndexFunc(p.conditions, func(before corev1.PodCondition) bool { return before.Type == kind })
		if at >= 0 && p.conditions[at].Status == c.Status {
			c.LastTransitionTime = p.conditions[at].LastTransitionTime
		}
		found = append(found, c)
	}
	begun := slices.ContainsFunc(p.containers, func(c *container) bool { return c.role == regular && c.runs > 0 })
	why, message := "ContainersNotInitialized", fmt.Sprintf("containers with incomplete status: %v", incomplete)
	if phase == corev1.PodSucceeded {
		why = "PodCompleted"
	}
	add(corev1.PodReadyToStartContainers, p.begun > 0 && p.over.IsZero(), "", "")
	add(corev1.PodInitialized, begun || len(incomplete) == 0, why, message)
	why, message = "ContainersNotReady", fmt.Sprintf("containers with unready status: %v", unready)
	switch phase {
	case corev1.PodSucceeded:
		why, message = "PodCompleted", ""
	case corev1.PodFailed:
		why, message = "PodFailed", ""
	}
	ready := len(unready) == 0 && why == "ContainersNotReady"
	add(corev1.ContainersReady, ready, why, message)
	if gate := p.closedGate(); ready && gate != "" {
		ready, why, message = false, "ReadinessGatesNotReady",
			fmt.Sprintf("the status of pod readiness gate %q is not \"True\"", gate)
	}
	add(corev1.PodReady, ready, why, message)
	return found
}

// closedGate is the first readiness gate whose condition is not true, or empty.
func (p *pod) closedGate() corev1.PodConditionType {
	for _, gate := range p.seen.Spec.ReadinessGates {
		if !slices.ContainsFunc(p.seen.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == gate.ConditionType && c.Status == corev1.ConditionTrue
		}) {
			return gate.ConditionType
		}
	}
	return ""
}

// Merge writes a status of a kubelet into the one that the API has, as its strategic merge patch
// does. Conditions and fields of others stay.
func Merge(into, from *corev1.PodStatus) {
	merged := *from
	merged.Conditions = slices.DeleteFunc(slices.Clone(into.Conditions), func(c corev1.PodCondition) bool {
		return slices.ContainsFunc(from.Conditions, func(own corev1.PodCondition) bool { return own.Type == c.Type })
	})
	merged.Conditions = append(merged.Conditions, from.Conditions...)
	merged.NominatedNodeName = into.NominatedNodeName
	if merged.StartTime == nil {
		merged.StartTime = into.StartTime
	}
	*into = merged
}
