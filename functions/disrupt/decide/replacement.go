package decide

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/disruption/drift"
)

// Finish deletes the claim of a node whose replacements are all initialized. The drain of an
// unhealthy node gets a deadline first.
func Finish(node *disruption.Node, now time.Time) Task {
	reason := cmp.Or(string(reasonOf(node)), "Replaced")
	task := Task{Node: node, Reason: reasonOf(node), Steps: []Step{
		// The log line comes before the deletion: a pass that died after it would leave no reason.
		Log{Message: "deleting replaced nodeclaim", Attributes: []any{
			"reason", reason, "NodeClaim", node.Claim.Name, "NodePool", node.Claim.Labels[api.NodePoolLabelKey],
			"replaced-by", node.Claim.Annotations[disruption.ReplacedByAnnotationKey],
		}},
	}}
	if deadline := disruption.RepairDeadline(node, now); deadline != nil {
		task.add(PatchClaim{Patch: deadline})
	}
	task.add(DeleteClaim{Claim: node.Claim}, CountSavings{Reason: reason})
	task.add(terminating(node, reason)...)
	return task
}

// reasonOf is why the claim says that its node is disrupted, or empty.
func reasonOf(node *disruption.Node) api.DisruptionReason {
	condition := api.GetCondition(node.Claim.Status.Conditions, api.ConditionTypeDisruptionReason)
	if condition == nil {
		return ""
	}
	return api.DisruptionReason(condition.Reason)
}

// WaitingReadiness are the events that say of replacements that other nodes wait for them. There are
// none outside the report window.
func WaitingReadiness(replacements []*disruption.Node, now time.Time) []Record {
	if !InReportWindow(now) {
		return nil
	}
	var events []Record
	for _, replacement := range replacements {
		events = append(events, normal(disruption.AboutClaim(replacement.Claim), "DisruptionWaitingReadiness",
			"The nodes that it replaces stay until it is initialized"))
	}
	return events
}

// TerminateFirst ends a node that nothing can replace before it has ended.
func TerminateFirst(candidate *disruption.Candidate, why string, now time.Time) Task {
	node, reason := candidate.Node, string(candidate.Reason)
	task := Task{Node: node, Reason: candidate.Reason, Steps: []Step{
		disruptionReason(reason),
		Log{Message: "disrupting node(s)", Attributes: []any{
			"reason", reason, "decision", "terminate-first", "disrupted-node-count", 1, "replacement-node-count", 0,
			"NodeClaim", node.Claim.Name, "NodePool", candidate.Pool.Name, "because", why,
		}},
	}}
	if deadline := disruption.RepairDeadline(node, now); deadline != nil {
		task.add(PatchClaim{Patch: deadline})
	}
	task.add(DeleteClaim{Claim: node.Claim})
	task.add(terminating(node, reason+", before a replacement: "+why)...)
	return task
}

// Sleep ends a node of a pool that sleeps. Nothing replaces it. The taint comes first, so that no pod
// arrives during the drain.
func Sleep(candidate *disruption.Candidate, now time.Time) Task {
	node, reason := candidate.Node, string(candidate.Reason)
	task := Task{Node: node, Reason: candidate.Reason}
	if patch := disruption.Taint(node.Node); patch != nil {
		task.add(PatchNode{Patch: patch})
	}
	because := candidate.Pool.Rest(now).String()
	task.add(
		disruptionReason(reason),
		Log{Message: "disrupting node(s)", Attributes: []any{
			"reason", reason, "decision", "delete", "disrupted-node-count", 1, "replacement-node-count", 0,
			"Node", node.Node.Name, "NodeClaim", node.Claim.Name, "NodePool", candidate.Pool.Name, "because", because,
		}},
	)
	if deadline := disruption.RepairDeadline(node, now); deadline != nil {
		task.add(PatchClaim{Patch: deadline})
	}
	task.add(DeleteClaim{Claim: node.Claim}, ShowDeleted{}, CountSavings{Reason: reason})
	task.add(terminating(node, reason+": "+because)...)
	return task
}

// Reboot orders the reboot of an unhealthy node. The condition is the order, and comes last.
func Reboot(r *disruption.Reboot) Task {
	node := r.Node
	return Task{Node: node, Reason: r.Reason, Steps: []Step{
		PatchClaim{Patch: r.Prepare()}, SetCondition{r.Order()},
		Log{Message: "disrupting node(s)", Attributes: []any{
			"reason", string(r.Reason), "decision", "reboot", "disrupted-node-count", 1, "replacement-node-count", 0,
			"Node", node.Node.Name, "NodeClaim", node.Claim.Name, "NodePool", r.Pool.Name, "because", r.Because(),
		}},
	}}
}

// RollBack undoes a replacement in the reverse order of its steps. The annotation that names the
// replacements goes last: the claim says that it is being replaced until nothing is left of it.
func RollBack(back disruption.RollBack, now time.Time) Task {
	node := back.Node
	task := Task{Node: node}
	for _, unneeded := range back.Delete {
		task.add(Log{Message: "deleting replacement that is not needed", Attributes: []any{
			"NodeClaim", unneeded.Claim.Name, "replaces", node.Claim.Name, "reason", back.Why,
		}}, DeleteClaim{Claim: unneeded.Claim})
	}
	task.add(Restore(node).Steps...)
	task.add(
		// Unseen: the node has had its turn in this pass.
		PatchClaim{Patch: disruption.NotReplaced(now.Add(back.Again)), Unseen: true},
		Log{Warning: true, Message: "replacement rolled back",
			Attributes: []any{"NodeClaim", node.Claim.Name, "reason", back.Why}},
		Record{
			About: disruption.AboutClaim(node.Claim), Type: corev1.EventTypeWarning, Reason: "DisruptionBlocked",
			Message: "The node stays for now: " + back.Why,
		},
	)
	return task
}

// Reconsider takes back the annotation of a replacement whose pass died before it had begun. A
// later stage of this pass begins it again if it is still right.
func Reconsider(node *disruption.Node) Task {
	return Task{Node: node, Steps: []Step{
		PatchClaim{Patch: disruption.NotBegun(node.Claim)},
		Log{Message: "reconsidering a replacement that had not begun", Attributes: []any{"NodeClaim", node.Claim.Name}},
	}}
}

// Begin writes on the claim which claims replace it, and keeps pods off its node.
func Begin(move disruption.Move) Task {
	node, reason := move.Node, string(move.Reason)
	task := Task{Node: node, Reason: move.Reason, Steps: []Step{
		PatchClaim{Patch: disruption.ReplacedBy(node.Claim, move.By)},
		disruptionReason(reason),
	}}
	if patch := disruption.Taint(node.Node); patch != nil {
		task.add(PatchNode{Patch: patch})
	}
	task.add(
		Log{Message: "disrupting node(s)", Attributes: []any{
			"reason", reason, "decision", "replace", "disrupted-node-count", 1, "replacement-node-count", len(move.By),
			"Node", node.Node.Name, "NodeClaim", node.Claim.Name, "NodePool", node.Claim.Labels[api.NodePoolLabelKey],
			"replaced-by", move.By,
		}},
		normal(disruption.AboutClaim(node.Claim), "DisruptionLaunching",
			fmt.Sprintf("Launching %d replacements: %s", len(move.By), reason)),
	)
	return task
}

// Postpone leaves a node alone for a while that cannot be replaced now. Without the pause it would
// take the place of other candidates in every pass.
func Postpone(notice disruption.Notice, now time.Time) Task {
	return Task{Node: notice.Node, Steps: []Step{
		normal(disruption.AboutClaim(notice.Node.Claim), "DisruptionBlocked", notice.Message),
		PatchClaim{Patch: disruption.NotReplaced(now.Add(disruption.ReplaceAgainAfter))},
	}}
}

// Fixed divides the candidates into those of pools with spec.replicas, whose nodes are replaced
// one by one, and those whose replacement the planner decides.
func Fixed(candidates []disruption.Candidate) (fixed, planned []disruption.Candidate) {
	for _, candidate := range candidates {
		if candidate.Pool.Spec.Replicas != nil {
			fixed = append(fixed, candidate)
		} else {
			planned = append(planned, candidate)
		}
	}
	return fixed, planned
}

// Unavailable marks the spot offerings that EC2 recommends to leave, so that neither the plan nor
// the launch chooses them again. It is nil when there are none.
func Unavailable(candidates []disruption.Candidate, now time.Time) *catalog.Unavailable {
	marks := &catalog.Unavailable{}
	for _, candidate := range candidates {
		labels := candidate.Node.Claim.Labels
		instanceType, zone := labels[corev1.LabelInstanceTypeStable], labels[corev1.LabelTopologyZone]
		if candidate.Reason == disruption.ReasonRebalance && instanceType != "" && zone != "" {
			marks.Mark(api.CapacityTypeSpot, instanceType, zone, now)
		}
	}
	if len(marks.Until) == 0 {
		return nil
	}
	return marks
}

// Create returns the claims to create once the replacement of the claims in begun has begun. It
// leaves out the claims that would replace none of them.
func Create(moves disruption.Moves, begun map[string]bool, origins map[string]*drift.Origin) []disruption.Created {
	var wanted []disruption.Created
	for _, created := range moves.Create {
		if !slices.ContainsFunc(created.Replaces, func(name string) bool { return begun[name] }) {
			continue
		}
		if origin := origins[created.Claim.Labels[api.NodePoolLabelKey]]; origin != nil {
			drift.Stamp(&created.Claim, origin.PoolHash)
		}
		wanted = append(wanted, created)
	}
	return wanted
}
