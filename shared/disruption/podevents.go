package disruption

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

const (
	// podEventPause is the least time between two pod events that a claim shows: Karpenter's ten
	// seconds.
	podEventPause = 10 * time.Second
	// maximumPodEvents bounds the claims of one pass that get a new time, because each is a call.
	maximumPodEvents = 100
)

// PodEvent is the last time at which a pod came to a node, ended there or began to end.
type PodEvent struct {
	Node *Node
	At   time.Time
}

// PodEvents are the pod events that the claims do not show yet in status.lastPodEventTime, those of
// the longest quiet nodes first. Only pools with a consolidateAfter above zero need them, and only
// events after the node's initialization. Events of one node within podEventPause count as one.
func PodEvents(s *Cluster, now time.Time) []PodEvent {
	pools := s.poolsByName()
	var events []PodEvent
	for i := range s.Nodes {
		node := &s.Nodes[i]
		pool := pools[node.pool()]
		if pool == nil || node.leaving() || !node.initialized() || pool.QuietTime() <= 0 {
			continue
		}
		at, shown := node.lastPodEvent(now), node.Claim.Status.LastPodEventTime.Time
		if at.After(node.initializedAt()) && at.Sub(shown) >= podEventPause {
			events = append(events, PodEvent{node, at})
		}
	}
	slices.SortStableFunc(events, func(a, b PodEvent) int {
		return a.Node.Claim.Status.LastPodEventTime.Compare(b.Node.Claim.Status.LastPodEventTime.Time)
	})
	return events[:min(len(events), maximumPodEvents)]
}

// lastPodEvent is the last event of the node's pods that is not in the future, or zero. Pods of
// DaemonSets do not count.
func (n *Node) lastPodEvent(now time.Time) time.Time {
	last := time.Time{}
	for _, pod := range n.Pods {
		if scheduling.IsOwnedByDaemonSet(pod) {
			continue
		}
		for _, at := range podEventsOf(pod) {
			if at.After(last) && !at.After(now) {
				last = at
			}
		}
	}
	return last
}

// podEventsOf are the times at which the pod came to its node, ended, and began to end. The last is
// its deletion time without its grace.
func podEventsOf(pod *corev1.Pod) []time.Time {
	var times []time.Time
	for i := range pod.Status.Conditions {
		condition := &pod.Status.Conditions[i]
		came := condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionTrue
		ended := condition.Type == corev1.PodReady && scheduling.IsTerminal(pod)
		if came || ended {
			times = append(times, condition.LastTransitionTime.Time)
		}
	}
	if pod.DeletionTimestamp != nil {
		grace := int64(0)
		if seconds := pod.DeletionGracePeriodSeconds; seconds != nil {
			grace = *seconds
		} else if seconds := pod.Spec.TerminationGracePeriodSeconds; seconds != nil {
			grace = *seconds
		}
		times = append(times, pod.DeletionTimestamp.Add(-time.Duration(grace)*time.Second))
	}
	return times
}
