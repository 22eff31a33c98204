package nodeclaim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/events/own"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/disruption/protection"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// stuckAfter is how long the drain waits for a pod after the end of its grace. After that the
// kubelet is not expected to end it.
const stuckAfter = time.Minute

// protectedLogged is the most protected pods of one node that a pass logs. The event names all of them.
const protectedLogged = 10

// drained marks the node and evicts its pods, group after group. It reports whether there is
// nothing left to wait for.
func (p *pass) drained() bool {
	// Somebody may have removed the mark of a drained node, and pods may have come.
	if p.is(api.ConditionTypeDrained) && disruption.IsTainted(p.node) {
		return true
	}
	fresh := p.mark()
	p.deleteNode()
	waiting := p.waiting()
	limit, limited := p.deadline()
	// The function that sets a deadline before the drain writes no event of it.
	_, wasSet := p.view.Claim.Annotations[api.NodeClaimTerminationTimestampAnnotationKey]
	if limited && wasSet && len(waiting) > 0 && (fresh || p.view.Report) {
		p.reportDeadline()
	}
	// Past the limit the drain waits for nothing, and deletes the pods that are left.
	if over := limited && !p.now.Before(limit); len(waiting) > 0 && !over {
		p.wait(waiting)
		if limited {
			waiting = p.force(waiting, limit)
		}
		p.evict(waiting)
		return false
	} else if over {
		p.force(waiting, limit)
	}
	// The pods were listed before the mark, so that one more may have come since.
	if fresh {
		p.condition(api.ConditionTypeDrained, conditionUnknown, reasonDraining, "Draining")
		return false
	}
	if p.markedFor() < minimumDrain {
		return false
	}
	p.condition(api.ConditionTypeDrained, conditionTrue, "", "")
	p.log("drained node")
	p.publish(own.NodeDrained{Head: own.HeadOf(p.view.Cluster), Node: p.published()})
	return true
}

// wait shows what the drain waits for. It looks again less often the longer no pod has left,
// because a disruption budget may stop a drain for hours.
func (p *pass) wait(waiting []*corev1.Pod) {
	if p.condition(api.ConditionTypeDrained, conditionUnknown, reasonDraining, drainMessage(len(waiting))) {
		p.claim.Status.LastPodEventTime = metav1.NewTime(p.now.Truncate(time.Second))
	}
	p.outcome.Again = 0 // the calls below ask for anything sooner
	p.lookAgain(pauseAfter(p.now.Sub(p.claim.Status.LastPodEventTime.Time)))
	p.reportStuckDrain(len(waiting))
}

// drainMessage changes with each pod that leaves.
func drainMessage(pods int) string {
	if pods == 1 {
		return "Draining: 1 pod stays"
	}
	return fmt.Sprintf("Draining: %d pods stay", pods)
}

// pauseAfter is the time until the next look at something that has not moved for a while. After
// four minutes it exceeds what messages are sent for: the tick of each minute looks then.
func pauseAfter(unchanged time.Duration) time.Duration { return max(unchanged/4, drainPause) }

// markedFor is the least time for which the node had been marked when its pods were read. The condition is
// written with the mark. Without the condition somebody else marked the node before the claim was deleted.
func (p *pass) markedFor() time.Duration {
	read := p.now
	if at := p.view.PodsRead; !at.IsZero() && at.Before(read) {
		read = at
	}
	if drained := api.GetCondition(p.view.Claim.Status.Conditions, api.ConditionTypeDrained); drained != nil {
		return read.Sub(drained.LastTransitionTime.Time)
	}
	return read.Sub(p.claim.DeletionTimestamp.Time)
}

// mark keeps pods and load balancers off the node, and reports whether the mark is new.
func (p *pass) mark() bool {
	fresh := !disruption.IsTainted(p.node)
	if fresh {
		p.node.Spec.Taints = append(p.node.Spec.Taints, api.DisruptedNoScheduleTaint())
		p.log("tainted node",
			"taint.Key", api.DisruptedTaintKey, "taint.Effect", string(corev1.TaintEffectNoSchedule))
		p.outcome.WantsCapacity = len(p.waiting()) > 0
	}
	if p.node.Labels[api.LabelExcludeFromLoadBalancers] == "" {
		if p.node.Labels == nil {
			p.node.Labels = map[string]string{}
		}
		p.node.Labels[api.LabelExcludeFromLoadBalancers] = api.ExcludeFromLoadBalancersValue
	}
	if !slices.Contains(p.node.Finalizers, api.TerminationFinalizer) && p.node.DeletionTimestamp == nil {
		p.node.Finalizers = append(p.node.Finalizers, api.TerminationFinalizer)
	}
	return fresh
}

// deleteNode deletes the node at the beginning of its drain, as Karpenter does: tools recognise a
// leaving node by its deletion time. Its finalizer holds it, so that a node without one waits until
// it is written.
func (p *pass) deleteNode() {
	held := slices.Contains(p.view.Nodes[0].Finalizers, api.TerminationFinalizer)
	if held && p.node.DeletionTimestamp == nil {
		p.afterwards(DeleteNode{Name: p.node.Name, UID: p.node.UID})
	}
}

// waiting are the pods that the drain waits for.
func (p *pass) waiting() []*corev1.Pod {
	var waiting []*corev1.Pod
	for _, pod := range p.view.Pods {
		if drainable(pod, p.now) {
			waiting = append(waiting, pod)
		}
	}
	return waiting
}

// drainable reports whether a drain waits for the pod. It does not wait for pods that should have ended
// long ago.
func drainable(pod *corev1.Pod, now time.Time) bool {
	stuck := pod.DeletionTimestamp != nil && now.Sub(pod.DeletionTimestamp.Time) > stuckAfter
	return scheduling.IsEvicted(pod) && !stuck
}

// force deletes the pods that would outlive the node, whatever protects them, and returns the
// others. A pod with less time left than its grace gets the time that is left.
func (p *pass) force(waiting []*corev1.Pod, limit time.Time) []*corev1.Pod {
	var others []*corev1.Pod
	left := max(int64(limit.Sub(p.now)/time.Second), 1)
	end := limit
	if soonest := p.now.Add(time.Second); end.Before(soonest) {
		end = soonest
	}
	for _, pod := range waiting {
		grace := int64(corev1.DefaultTerminationGracePeriodSeconds)
		if seconds := pod.Spec.TerminationGracePeriodSeconds; seconds != nil {
			grace = max(*seconds, 1)
		}
		ending := pod.DeletionTimestamp != nil
		switch {
		// A pod that is ending is deleted again only to end it earlier.
		case ending && pod.DeletionTimestamp.After(end), !ending && left <= grace:
			p.afterwards(DeletePod{Pod: pod, GraceSeconds: min(left, grace)})
			p.record(disruption.AboutPod(pod), corev1.EventTypeNormal, "Disrupted",
				"Deleting the pod to accommodate the terminationTime "+limit.UTC().Format(time.RFC3339)+" of the node")
		default:
			others = append(others, pod)
			p.lookAt(limit.Add(-time.Duration(grace) * time.Second))
		}
	}
	p.lookAt(limit)
	return others
}

// reportProtection says in events of the pod what its annotation do-not-disrupt does. The error is
// that of reading it.
func (p *pass) reportProtection(pod *corev1.Pod, read protection.Protection, err error) {
	switch until := read.Until; {
	case !p.view.Report:
	case err != nil:
		p.record(disruption.AboutPod(pod), corev1.EventTypeWarning, "InvalidDoNotDisruptAnnotation", err.Error())
	case until.IsZero():
	case read.Active:
		p.record(disruption.AboutPod(pod), corev1.EventTypeNormal, "DoNotDisruptUntil", fmt.Sprintf(
			"The annotation %s protects the pod until %s", api.DoNotDisruptAnnotationKey, until.UTC().Format(time.RFC3339)))
	default:
		p.record(disruption.AboutPod(pod), corev1.EventTypeNormal, "DoNotDisruptGracePeriodElapsed", fmt.Sprintf(
			"The annotation %s protects the pod no longer", api.DoNotDisruptAnnotationKey))
	}
}

// evict evicts, once the node is marked, the first group of pods that has not left. A later group
// waits, so that pods which others depend on leave last.
func (p *pass) evict(waiting []*corev1.Pod) {
	if len(waiting) == 0 {
		return
	}
	first := slices.MinFunc(waiting, func(a, b *corev1.Pod) int { return group(a) - group(b) })
	var protected []string
	for _, pod := range waiting {
		if group(pod) != group(first) || pod.DeletionTimestamp != nil {
			continue
		}
		protection, err := protection.OfPod(pod, p.now)
		p.reportProtection(pod, protection, err)
		if protection.Active {
			protected = append(protected, pod.Namespace+"/"+pod.Name)
			if !protection.Until.IsZero() {
				p.lookAt(protection.Until)
			}
			continue
		}
		p.afterwards(Evict{Pod: pod, Node: p.node, Why: p.disruptionReason()})
	}
	if len(protected) > 0 && p.view.Report {
		slices.Sort(protected)
		for _, pod := range protected[:min(len(protected), protectedLogged)] {
			p.log("a pod holds up the drain", "Pod", pod, "error", "it has the annotation "+api.DoNotDisruptAnnotationKey)
		}
		p.record(disruption.AboutNode(p.node), corev1.EventTypeWarning, "FailedDraining",
			"Failed to drain node, waiting for pods with the annotation "+api.DoNotDisruptAnnotationKey+": "+
				strings.Join(protected, ", "))
	}
}

// group is the pod's place in the order in which pods leave: Karpenter's four groups.
func group(pod *corev1.Pod) int {
	place := 0
	if scheduling.IsOwnedByDaemonSet(pod) {
		place++
	}
	if class := pod.Spec.PriorityClassName; class == "system-cluster-critical" || class == "system-node-critical" {
		place += 2
	}
	return place
}
