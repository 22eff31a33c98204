package nodestate

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/disruption/protection"
	"github.com/whittle-dev/whittle/shared/disruption/repair"
)

// holds is why the drain of a pod's node waits for the pod.
func (w *Reader) holds(pod *corev1.Pod) string { return protection.HoldsDrain(pod, w.Budgets, w.Now) }

// mark adds the marks of a claim and its node.
func (w *Reader) mark(made *Standing, claim *api.NodeClaim, node *corev1.Node) {
	w.markLaunch(made, claim)
	w.markReasons(made, claim, node)
	if claim.DeletionTimestamp != nil {
		if by := claim.Annotations[api.NodeClaimTerminationTimestampAnnotationKey]; by != "" {
			made.Marks = append(made.Marks, Mark{Deadline, string(Deadline) + " " + readable(by)})
		}
		return
	}
	w.markHealth(made, claim, node)
	w.markMoves(made, claim)
	w.markKept(made, claim, node)
}

// readable writes a time of an annotation for people. Another text stays as it is.
func readable(text string) string {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return clock(at)
	}
	return text
}

func (w *Reader) markLaunch(made *Standing, claim *api.NodeClaim) {
	switch tries := claim.Annotations[api.FailedAttemptsAnnotationKey]; {
	case made.State != Launching || tries == "":
	case tries == "1":
		made.add(LaunchRefused, "once")
	default:
		made.add(LaunchRefused, tries+" times")
	}
	if since := claim.Annotations[api.UnseenSinceAnnotationKey]; since != "" && made.State == Launching {
		made.add(LaunchUnknown, "since "+readable(since))
	}
	found := api.GetCondition(claim.Status.Conditions, api.ConditionTypeConsistentStateFound)
	if found != nil && found.Status == metav1.ConditionFalse {
		made.add(LacksResources, cmp.Or(found.Message, found.Reason))
	}
}

// markReasons adds what speaks for the end of the node.
func (w *Reader) markReasons(made *Standing, claim *api.NodeClaim, node *corev1.Node) {
	if node != nil && node.Annotations[api.InterruptedAnnotationKey] != "" {
		made.add(Interrupted, node.Annotations[api.InterruptedAnnotationKey])
	}
	if departure, announced := disruption.DepartureOf(claim); announced {
		made.add(Departing, "AWS takes it at "+clock(departure.At)+": "+departure.Because)
	}
	if claim.DeletionTimestamp != nil {
		return
	}
	if at := claim.Annotations[api.RebalanceRecommendedAnnotationKey]; at != "" {
		made.add(Rebalance, "")
	}
	if drifted := api.GetCondition(claim.Status.Conditions, api.ConditionTypeDrifted); drifted != nil &&
		drifted.Status == metav1.ConditionTrue {
		made.add(Drifted, differs(drifted.Reason, api.ConditionTypeDrifted))
	}
	life := claim.Spec.ExpireAfter.Duration
	if life == nil || claim.CreationTimestamp.IsZero() {
		return
	}
	switch end := claim.CreationTimestamp.Add(*life); {
	case !w.Now.Before(end):
		made.add(Expired, w.ago(end))
	case end.Sub(w.Now) <= expiringWithin:
		made.add(Expiring, "at "+clock(end))
	}
}

// differs is the reason, unless it only repeats the condition's type.
func differs(reason, kind string) string {
	if reason == kind {
		return ""
	}
	return reason
}

// markHealth adds what is wrong with the node for longer than tolerated.
func (w *Reader) markHealth(made *Standing, claim *api.NodeClaim, node *corev1.Node) {
	if node == nil {
		return
	}
	// Alone, the node says whether its own time is over. Whether too many nodes are unhealthy is a
	// condition of the pool.
	due, _ := repair.Due([]repair.NodeHealth{{Claim: claim, Node: node}}, w.Now)
	condition, unhealthy := due[claim.Name]
	if !unhealthy {
		return
	}
	made.add(Unhealthy, condition.Condition+" is "+condition.Status)
	pool := w.pools[claim.Labels[api.NodePoolLabelKey]]
	switch {
	case node.Annotations[api.DoNotRepairAnnotationKey] == "true":
		made.add(RepairBlocked, api.DoNotRepairAnnotationKey)
	case pool != nil && api.ConditionTrue(pool.Status.Conditions, api.ConditionTypeNodeRepairBlocked):
		made.add(RepairBlocked, "too many nodes of the pool are unhealthy")
	}
}

// markMoves adds how far the removal of the node is.
func (w *Reader) markMoves(made *Standing, claim *api.NodeClaim) {
	if since, err := time.Parse(time.RFC3339, claim.Annotations[api.EmptySinceAnnotationKey]); err == nil {
		made.add(Empty, "since "+clock(since))
	}
	if w.proposed[claim.Name] {
		made.add(Proposed, "")
	}
	if reason := api.GetCondition(claim.Status.Conditions, api.ConditionTypeDisruptionReason); reason != nil &&
		reason.Status == metav1.ConditionTrue {
		made.add(ToGo, differs(reason.Reason, api.ConditionTypeDisruptionReason))
	}
	for _, name := range claim.Names(api.ReplacedByAnnotationKey) {
		text := string(Replaced) + " " + name + " is not made yet"
		if other := w.claims[name]; other != nil {
			text = string(Replaced) + " " + name + " is " + string(StepOf(other))
		}
		made.Marks = append(made.Marks, Mark{Replaced, text})
	}
	for _, name := range claim.Names(api.ReplacesAnnotationKey) {
		if w.claims[name] != nil {
			made.Marks = append(made.Marks, Mark{Replaces, string(Replaces) + " " + name})
		}
	}
	if since := claim.Annotations[api.RestartingSinceAnnotationKey]; since != "" {
		made.add(Restarting, "since "+readable(since))
	}
	if after := disruption.ReplaceAfter(claim); w.Now.Before(after) {
		made.add(ReplacementFailed, "the next is not before "+clock(after))
	}
}

// markKept adds what keeps the node, or pods off it. Budgets count only where something would remove the node.
func (w *Reader) markKept(made *Standing, claim *api.NodeClaim, node *corev1.Node) {
	kept := protection.OfClaim(claim, w.Now)
	if node != nil {
		if disruption.IsCandidate(node) && claim.DeletionTimestamp == nil {
			made.add(Avoided, "consolidation would take it next")
		}
		if until := node.Annotations[protection.ZoneShiftedAnnotationKey]; until != "" {
			made.add(ZoneShifted, "until "+readable(until))
		} else if until := w.Shifted[node.Labels[api.LabelTopologyZoneID]]; w.Now.Before(until) {
			made.add(ZoneShifted, "until "+clock(until))
		}
		if protection.Unsafe(node) == "" {
			kept = cmp.Or(kept, protection.OfNode(node, w.Now))
		}
	}
	if kept != "" {
		made.add(Kept, kept)
	}
	if pool := w.pools[claim.Labels[api.NodePoolLabelKey]]; pool != nil {
		made.heldByPool(pool, w.nodes[pool.Name], w.Now)
	}
}

// heldByPool marks a node that is wanted and waits for its pool's release, or for its budgets.
func (s *Standing) heldByPool(pool *api.NodePool, nodes int, now time.Time) {
	if s.Has(Drifted) && pool.DriftWaits != "" {
		s.add(AwaitsRelease, pool.DriftWaits)
	}
	if s.Has(Drifted) || s.Has(Empty) || s.Has(Unhealthy) || s.Has(Rebalance) {
		s.frozen(pool, nodes, now)
	}
}

// frozen marks a node that is wanted and may not go, because a person froze its pool or its budgets
// are shut.
func (s *Standing) frozen(pool *api.NodePool, nodes int, now time.Time) {
	if held := pool.Frozen(api.DisruptionReasonUnderutilized, now); held != nil {
		s.add(Frozen, held.String())
	} else if FrozenPool(pool, nodes, now) {
		s.add(Frozen, "the budgets of its pool let no node go now")
	}
}
