package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// emptiness removes nodes without pods.
func (r *run) emptiness(ctx context.Context) error {
	decided := disruption.Empty(r.seen, r.now())
	r.again = decided.Again
	var failed []error
	each := func(nodes []*disruption.Node, do func(context.Context, *disruption.Node) error) {
		for _, node := range nodes {
			if err := do(ctx, node); err != nil && !cluster.IsConflict(err) && !cluster.IsGone(err) {
				failed = append(failed, fmt.Errorf("nodeclaim %q: %w", node.Claim.Name, err))
			}
		}
	}
	each(decided.Restore, r.restore)
	each(decided.End, r.unmark)
	each(decided.Begin, r.mark)
	each(decided.Due, r.consolidatable)
	each(decided.Remove, r.remove)
	r.notice(ctx, decided.Notices)
	return errors.Join(failed...)
}

// mark writes down since when the node has been empty.
func (r *run) mark(ctx context.Context, node *disruption.Node) error {
	return r.annotate(ctx, node, r.now().UTC().Format(time.RFC3339))
}

// unmark takes back what was written of the node's being empty.
func (r *run) unmark(ctx context.Context, node *disruption.Node) error {
	if err := r.annotate(ctx, node, nil); err != nil {
		return err
	}
	return r.conditions(ctx, node, func(conditions *[]metav1.Condition) bool {
		return api.RemoveCondition(conditions, api.ConditionTypeConsolidatable)
	})
}

func (r *run) annotate(ctx context.Context, node *disruption.Node, value any) error {
	stored, err := r.client.PatchNodeClaim(ctx, node.Claim.Name, map[string]any{"metadata": map[string]any{
		"resourceVersion": node.Claim.ResourceVersion,
		"annotations":     map[string]any{disruption.EmptySinceAnnotationKey: value},
	}})
	if err == nil {
		node.Claim = stored
	}
	return err
}

// consolidatable shows that the node has been empty for long enough.
func (r *run) consolidatable(ctx context.Context, node *disruption.Node) error {
	return r.conditions(ctx, node, func(conditions *[]metav1.Condition) bool {
		return r.set(conditions, node, metav1.Condition{Type: api.ConditionTypeConsolidatable, Status: metav1.ConditionTrue})
	})
}

// restore takes back the mark of a run that died before it had removed the node.
func (r *run) restore(ctx context.Context, node *disruption.Node) error {
	// The taint last: it is what a run that dies on the way is found by.
	err := r.conditions(ctx, node, func(conditions *[]metav1.Condition) bool {
		return api.RemoveCondition(conditions, api.ConditionTypeDisruptionReason)
	})
	patch := disruption.Untaint(node.Node)
	if err != nil || patch == nil {
		return err
	}
	if err := r.client.PatchNode(ctx, node.Node.Name, patch); err != nil {
		return err
	}
	slog.InfoContext(ctx, "untainted node", "Node", node.Node.Name, "NodeClaim", node.Claim.Name)
	return nil
}

// remove takes the node away: marked first, so that no pod comes any more; then
// looked at once more; the claim's deletion last. A run that dies before it is
// found by the mark.
func (r *run) remove(ctx context.Context, node *disruption.Node) error {
	if patch := disruption.Taint(node.Node); patch != nil {
		if err := r.client.PatchNode(ctx, node.Node.Name, patch); err != nil {
			return err
		}
		slog.InfoContext(ctx, "tainted node", "Node", node.Node.Name, "NodeClaim", node.Claim.Name,
			"taint.Key", api.DisruptedTaintKey, "taint.Effect", string(corev1.TaintEffectNoSchedule))
	}
	pods, err := r.client.PodsOnNode(ctx, node.Node.Name, "")
	if err != nil {
		return err
	}
	if came := slices.IndexFunc(pods, disruption.Counts); came >= 0 {
		slog.InfoContext(ctx, "a pod came to an empty node", "Node", node.Node.Name, "Pod", pods[came].Namespace+"/"+pods[came].Name)
		// The next look finds the mark on a node that is not empty, and takes it back.
		r.again = r.now().Add(disruption.EmptyAfter)
		return nil
	}
	reason := string(api.DisruptionReasonEmpty)
	err = r.conditions(ctx, node, func(conditions *[]metav1.Condition) bool {
		return r.set(conditions, node, metav1.Condition{Type: api.ConditionTypeDisruptionReason, Status: metav1.ConditionTrue, Reason: reason, Message: reason})
	})
	if err != nil {
		return err
	}
	// Said first: who dies after the deletion would leave no reason for it.
	slog.InfoContext(ctx, "disrupting node(s)", "reason", reason, "decision", "delete", "disrupted-node-count", 1, "replacement-node-count", 0,
		"Node", node.Node.Name, "NodeClaim", node.Claim.Name, "NodePool", node.Claim.Labels[api.NodePoolLabelKey],
		"instance-type", node.Claim.Labels[corev1.LabelInstanceTypeStable], "capacity-type", node.Claim.Labels[api.CapacityTypeLabelKey])
	if err := r.client.DeleteNodeClaim(ctx, node.Claim.Name, node.Claim.UID); err != nil {
		return err
	}
	r.removed++
	leaving := node.Claim.DeepCopy()
	leaving.DeletionTimestamp = &metav1.Time{Time: r.now()}
	node.Claim = leaving // for what else this look decides
	r.count(ctx, node, reason)
	r.terminating(ctx, node, reason)
	return nil
}
