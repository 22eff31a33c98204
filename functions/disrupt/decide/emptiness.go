package decide

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// NoteEmpty writes on the claim since when its node has been empty.
func NoteEmpty(node *disruption.Node, now time.Time) Task {
	return Task{Node: node, Steps: []Step{annotateEmpty(node.Claim, now.UTC().Format(time.RFC3339))}}
}

// ForgetEmpty takes back what NoteEmpty and MarkConsolidatable wrote.
func ForgetEmpty(node *disruption.Node) Task {
	return Task{Node: node, Steps: []Step{
		annotateEmpty(node.Claim, nil), RemoveCondition{Type: api.ConditionTypeConsolidatable},
	}}
}

func annotateEmpty(claim *api.NodeClaim, value any) PatchClaim {
	return PatchClaim{Patch: map[string]any{"metadata": map[string]any{
		"resourceVersion": claim.ResourceVersion,
		"annotations":     map[string]any{disruption.EmptySinceAnnotationKey: value},
	}}}
}

// MarkConsolidatable shows on the claim that its node has been empty for long enough.
func MarkConsolidatable(node *disruption.Node) Task {
	return Task{Node: node, Steps: []Step{SetCondition{
		metav1.Condition{Type: api.ConditionTypeConsolidatable, Status: metav1.ConditionTrue},
	}}}
}

// ShowEvent shows on the claim when a pod last came to its node or left it.
func ShowEvent(event disruption.PodEvent) Task {
	return Task{Node: event.Node, Steps: []Step{ShowPodEvent{At: event.At}}}
}

// Restore takes back the mark of a pass that died before it had deleted the claim.
func Restore(node *disruption.Node) Task {
	// The taint goes last: the next pass finds the node by it if this one dies on the way.
	task := Task{Node: node, Steps: []Step{RemoveCondition{Type: api.ConditionTypeDisruptionReason}}}
	if patch := disruption.Untaint(node.Node); patch != nil {
		task.add(PatchNode{Patch: patch},
			Log{Message: "untainted node", Attributes: []any{"Node", node.Node.Name, "NodeClaim", node.Claim.Name}})
	}
	return task
}

// Remove deletes the claim of an empty node. The taint comes first, so that no more pods arrive;
// then the pods are read once more; the deletion comes last. The next pass finds the taint of a
// pass that died in between.
func Remove(node *disruption.Node) Task {
	task := Task{Node: node, Reason: api.DisruptionReasonEmpty}
	if patch := disruption.Taint(node.Node); patch != nil {
		task.add(PatchNode{Patch: patch}, Log{Message: "tainted node", Attributes: []any{
			"Node", node.Node.Name, "NodeClaim", node.Claim.Name,
			"taint.Key", api.DisruptedTaintKey, "taint.Effect", string(corev1.TaintEffectNoSchedule),
		}})
	}
	reason := string(api.DisruptionReasonEmpty)
	labels := node.Claim.Labels
	task.add(
		RequireEmpty{},
		disruptionReason(reason),
		// The log line comes before the deletion: a pass that died after it would leave no reason.
		Log{Message: "disrupting node(s)", Attributes: []any{
			"reason", reason, "decision", "delete", "disrupted-node-count", 1, "replacement-node-count", 0,
			"Node", node.Node.Name, "NodeClaim", node.Claim.Name, "NodePool", labels[api.NodePoolLabelKey],
			"instance-type", labels[corev1.LabelInstanceTypeStable], "capacity-type", labels[api.CapacityTypeLabelKey],
		}},
		DeleteClaim{Claim: node.Claim},
		ShowDeleted{},
		CountSavings{Reason: reason},
	)
	task.add(terminating(node, reason)...)
	return task
}

// terminating are the events that tell people of the node's end.
func terminating(node *disruption.Node, reason string) []Step {
	objects := []corev1.ObjectReference{disruption.AboutClaim(node.Claim)}
	if node.Node != nil {
		objects = append(objects, disruption.AboutNode(node.Node))
	}
	var events []Step
	for _, about := range objects {
		events = append(events, normal(about, "DisruptionTerminating", "Disrupting "+about.Kind+": "+reason))
	}
	return events
}
