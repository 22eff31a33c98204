package nodeclaim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// stuckAfter is how long after the end of its grace a pod is waited for. Then no
// kubelet ends it any more.
const stuckAfter = time.Minute

// drained marks the node and moves its pods off, group after group, and tells
// whether there is nothing left to wait for.
func (p *pass) drained() bool {
	if p.is(api.ConditionTypeDrained) {
		return true
	}
	fresh := p.mark()
	waiting := p.waiting()
	limit, limited := p.deadline()
	// Past the limit nothing is waited for: what is left is told to end.
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
	// The pods were listed before the mark: one more may have come meanwhile.
	if fresh {
		p.condition(api.ConditionTypeDrained, conditionUnknown, reasonDraining, "Draining the node")
		return false
	}
	if p.markedFor() < minimumDrain {
		return false
	}
	p.condition(api.ConditionTypeDrained, conditionTrue, "", "")
	p.say("drained node")
	return true
}

// wait says what the drain waits for, and looks again the later the longer nothing has
// come of it: a disruption budget may hold a drain up for hours.
func (p *pass) wait(waiting []*corev1.Pod) {
	if p.condition(api.ConditionTypeDrained, conditionUnknown, reasonDraining, drainMessage(len(waiting))) {
		p.claim.Status.LastPodEventTime = metav1.NewTime(p.now.Truncate(time.Second))
	}
	p.outcome.Again = 0 // anything sooner is asked for below
	p.lookAgain(patience(p.now.Sub(p.claim.Status.LastPodEventTime.Time)))
	p.stuck(len(waiting))
}

// drainMessage changes with each pod that leaves.
func drainMessage(pods int) string {
	if pods == 1 {
		return "Draining the node: 1 pod stays"
	}
	return fmt.Sprintf("Draining the node: %d pods stay", pods)
}

// patience is how soon to look again at what has not moved for a while. From four minutes
// on no message is sent for it: the tick of each minute finds out.
func patience(still time.Duration) time.Duration { return max(still/4, soon) }

// markedFor is the least time that the node has been marked for. The condition is
// written with the mark; without it someone else marked the node, before the claim's
// deletion.
func (p *pass) markedFor() time.Duration {
	if api.GetCondition(p.view.Claim.Status.Conditions, api.ConditionTypeDrained) != nil {
		return p.since(api.ConditionTypeDrained)
	}
	return p.now.Sub(p.claim.DeletionTimestamp.Time)
}

// mark keeps pods and load balancers off the node, and tells whether the mark is new.
func (p *pass) mark() bool {
	fresh := !disruption.IsTainted(p.node)
	if fresh {
		p.node.Spec.Taints = append(p.node.Spec.Taints, api.DisruptedNoScheduleTaint())
		p.say("tainted node", "taint.Key", api.DisruptedTaintKey, "taint.Effect", string(corev1.TaintEffectNoSchedule))
		p.outcome.Displaces = len(p.waiting()) > 0
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

// waiting are the pods that the drain waits for.
func (p *pass) waiting() []*corev1.Pod {
	var waiting []*corev1.Pod
	for _, pod := range p.view.Pods {
		if !scheduling.IsTerminal(pod) && drainable(pod, p.now) {
			waiting = append(waiting, pod)
		}
	}
	return waiting
}

// drainable tells whether the pod leaves a node that is drained: not a pod that
// tolerates the mark, not a static one, which the kubelet would start again, and
// not one that was to be gone long ago.
func drainable(pod *corev1.Pod, now time.Time) bool {
	mark := api.DisruptedNoScheduleTaint()
	tolerates := slices.ContainsFunc(pod.Spec.Tolerations, func(toleration corev1.Toleration) bool {
		return scheduling.ToleratesTaint(&toleration, &mark)
	})
	stuck := pod.DeletionTimestamp != nil && now.Sub(pod.DeletionTimestamp.Time) > stuckAfter
	return !tolerates && !stuck && !scheduling.IsStatic(pod)
}

// force deletes the pods that would outlive the node, past whatever protects them,
// and gives the others. Who has less time left than its grace gets what is left.
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
		// One that is ending is told again only to end earlier.
		case ending && pod.DeletionTimestamp.After(end), !ending && left <= grace:
			p.afterwards(DeletePod{Pod: pod, GraceSeconds: min(left, grace)})
			p.record(aboutPod(pod), corev1.EventTypeNormal, "Disrupted", fmt.Sprintf("Deleting the pod to accommodate the terminationTime %s of the node", limit.UTC().Format(time.RFC3339)))
		default:
			others = append(others, pod)
			p.lookAt(limit.Add(-time.Duration(grace) * time.Second))
		}
	}
	p.lookAt(limit)
	return others
}

// evict asks, once the node is marked, for the eviction of the first group that has
// not left. A later group waits, so that what others lean on goes last.
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
		protection, err := disruption.PodProtection(pod, p.now)
		if err != nil && p.view.Tell {
			p.record(aboutPod(pod), corev1.EventTypeWarning, "InvalidDoNotDisruptAnnotation", err.Error())
		}
		if protection.Active {
			protected = append(protected, pod.Namespace+"/"+pod.Name)
			if !protection.Until.IsZero() {
				p.lookAt(protection.Until)
			}
			continue
		}
		p.afterwards(Evict{Pod: pod, Node: p.node})
	}
	if len(protected) > 0 && p.view.Tell {
		slices.Sort(protected)
		p.record(disruption.AboutNode(p.node), corev1.EventTypeWarning, "FailedDraining",
			"Failed to drain node, waiting for pods with the annotation "+api.DoNotDisruptAnnotationKey+": "+strings.Join(protected, ", "))
	}
}

// group is the pod's place in the order of leaving.
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

func aboutPod(pod *corev1.Pod) corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
}
