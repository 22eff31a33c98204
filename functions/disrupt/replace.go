package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/plan"
)

// replacing goes on with the replacements that were begun, whoever began them.
func (r *run) replacing(ctx context.Context) error {
	state := disruption.Replacing(r.seen, r.now())
	// An invocation may have died before it woke who launches.
	r.launches = r.launches || state.Unlaunched
	var failed []error
	for _, node := range state.Finish {
		failed = append(failed, about(node, r.finish(ctx, node)))
	}
	for _, back := range state.RollBack {
		failed = append(failed, about(back.Node, r.rollBack(ctx, back)))
	}
	for _, node := range state.Unbegun {
		failed = append(failed, about(node, r.forget(ctx, node)))
	}
	return errors.Join(failed...)
}

// about names the claim in an error, and drops one that the next look makes good.
func about(node *disruption.Node, err error) error {
	if err == nil || cluster.IsConflict(err) || cluster.IsGone(err) {
		return nil
	}
	return fmt.Errorf("nodeclaim %q: %w", node.Claim.Name, err)
}

// finish deletes the claim of a node whose replacements are there, once the pods are moved
// that are not to be evicted.
func (r *run) finish(ctx context.Context, node *disruption.Node) error {
	if waits, err := r.restart(ctx, node); waits || err != nil {
		return err
	}
	reason := "Replaced"
	if condition := api.GetCondition(node.Claim.Status.Conditions, api.ConditionTypeDisruptionReason); condition != nil {
		reason = condition.Reason
	}
	// Said first: who dies after the deletion would leave no reason for it.
	slog.InfoContext(ctx, "deleting replaced nodeclaim", "reason", reason, "NodeClaim", node.Claim.Name, "NodePool", node.Claim.Labels[api.NodePoolLabelKey],
		"replaced-by", node.Claim.Annotations[disruption.ReplacedByAnnotationKey])
	if err := r.client.DeleteNodeClaim(ctx, node.Claim.Name, node.Claim.UID); err != nil {
		return err
	}
	r.removed++
	r.count(ctx, node, reason)
	r.terminating(ctx, node, reason)
	return nil
}

// terminating shows on the claim and its node that this is the end.
func (r *run) terminating(ctx context.Context, node *disruption.Node, reason string) {
	objects := []corev1.ObjectReference{disruption.AboutClaim(node.Claim)}
	if node.Node != nil {
		objects = append(objects, disruption.AboutNode(node.Node))
	}
	for _, about := range objects {
		r.record(ctx, about, corev1.EventTypeNormal, "DisruptionTerminating", "Disrupting "+about.Kind+": "+reason)
	}
}

// rollBack takes back what was begun, in the other order: the claim says that it is
// being replaced until nothing of it is left.
func (r *run) rollBack(ctx context.Context, back disruption.RollBack) error {
	for _, unneeded := range back.Delete {
		slog.InfoContext(ctx, "deleting replacement that is not needed", "NodeClaim", unneeded.Claim.Name, "replaces", back.Node.Claim.Name, "reason", back.Why)
		if err := r.client.DeleteNodeClaim(ctx, unneeded.Claim.Name, unneeded.Claim.UID); err != nil {
			return err
		}
		r.removed++
	}
	node := back.Node
	if err := r.restore(ctx, node); err != nil {
		return err
	}
	if _, err := r.client.PatchNodeClaim(ctx, node.Claim.Name, disruption.NotReplaced(r.now())); err != nil {
		return err
	}
	slog.WarnContext(ctx, "replacement rolled back", "NodeClaim", node.Claim.Name, "reason", back.Why)
	r.record(ctx, disruption.AboutClaim(node.Claim), corev1.EventTypeWarning, "DisruptionBlocked", "The node stays for now: "+back.Why)
	return nil
}

// forget takes back the little that was written of a replacement whose beginner died. The
// rest of this look begins it anew if it is still right.
func (r *run) forget(ctx context.Context, node *disruption.Node) error {
	stored, err := r.client.PatchNodeClaim(ctx, node.Claim.Name, disruption.NotBegun(node.Claim))
	if err != nil {
		return err
	}
	node.Claim = stored
	slog.InfoContext(ctx, "a replacement that was not begun is looked at anew", "NodeClaim", node.Claim.Name)
	return nil
}

// graceful begins to replace nodes: those of which AWS has announced something, drifted ones
// and expired ones.
func (r *run) graceful(ctx context.Context) error {
	candidates, notices := disruption.Candidates(r.seen, r.now())
	r.notice(ctx, notices)
	var fixed, planned []disruption.Candidate
	for _, candidate := range candidates {
		if candidate.Pool.Spec.Replicas != nil {
			fixed = append(fixed, candidate)
		} else {
			planned = append(planned, candidate)
		}
	}
	return errors.Join(r.replaceFixed(ctx, fixed), r.replacePlanned(ctx, planned))
}

// replaceFixed replaces nodes of pools with spec.replicas.
func (r *run) replaceFixed(ctx context.Context, candidates []disruption.Candidate) error {
	if len(candidates) == 0 {
		return nil
	}
	moves, err := r.seen.Replicas(candidates, r.now())
	return errors.Join(err, r.carryOut(ctx, moves))
}

// replacePlanned replaces nodes by what the planner finds for their pods.
func (r *run) replacePlanned(ctx context.Context, candidates []disruption.Candidate) error {
	if len(candidates) == 0 {
		return nil
	}
	// EC2 recommends against these offerings: neither the plan nor the launch takes them.
	if err := r.markRebalanced(ctx, candidates); err != nil {
		return err
	}
	var leaving []*api.NodeClaim
	for _, candidate := range candidates {
		leaving = append(leaving, candidate.Node.Claim)
	}
	without, err := r.client.Without(ctx, r.objects, r.seen, leaving, r.now())
	if err != nil {
		return fmt.Errorf("planning replacements for %d nodes: %w", len(candidates), err)
	}
	return r.carryOut(ctx, disruption.MovesOf(candidates, plan.Solve(without), r.now()))
}

func (r *run) markRebalanced(ctx context.Context, candidates []disruption.Candidate) error {
	marks := &catalog.Unavailable{}
	for _, candidate := range candidates {
		labels := candidate.Node.Claim.Labels
		instanceType, zone := labels[corev1.LabelInstanceTypeStable], labels[corev1.LabelTopologyZone]
		if candidate.Reason == disruption.ReasonRebalance && instanceType != "" && zone != "" {
			marks.Mark(api.CapacityTypeSpot, instanceType, zone, r.now())
		}
	}
	if len(marks.Until) == 0 {
		return nil
	}
	return r.client.MarkUnavailable(ctx, marks, r.now())
}

// carryOut begins the moves: first the nodes, so that one who dies on the way leaves them
// marked, then the claims that replace them.
func (r *run) carryOut(ctx context.Context, moves disruption.Moves) error {
	var failed []error
	for _, stays := range moves.Stay {
		failed = append(failed, about(stays.Node, r.stay(ctx, stays)))
	}
	var begin []disruption.Move
	for _, move := range moves.Begin {
		why, err := r.unmovable(ctx, move.Node)
		if why != "" {
			err = r.stay(ctx, disruption.Notice{Node: move.Node, Message: why})
		} else if err == nil {
			begin = append(begin, move)
		}
		failed = append(failed, about(move.Node, err))
	}
	if moves.Together && len(begin) < len(moves.Begin) {
		return errors.Join(failed...)
	}
	begun := map[string]bool{}
	for _, move := range begin {
		err := r.begin(ctx, move)
		if err == nil {
			begun[move.Node.Claim.Name] = true
		}
		failed = append(failed, about(move.Node, err))
	}
	if moves.Together && len(begun) < len(moves.Begin) {
		// The next look takes back what was begun: nothing replaces it.
		return errors.Join(failed...)
	}
	for i := range moves.Create {
		created := &moves.Create[i]
		if !slices.ContainsFunc(created.Replaces, func(name string) bool { return begun[name] }) {
			continue
		}
		if origin := r.seen.Origins[created.Claim.Labels[api.NodePoolLabelKey]]; origin != nil {
			disruption.Stamp(&created.Claim, origin.PoolHash)
		}
		stored, err := r.client.CreateNodeClaim(ctx, &created.Claim)
		if err != nil && !cluster.IsConflict(err) {
			failed = append(failed, fmt.Errorf("creating nodeclaim %q: %w", created.Claim.Name, err))
			continue
		}
		if err == nil {
			// What is planned next in this look counts on it.
			r.objects.NodeClaims = append(r.objects.NodeClaims, *stored)
		}
		r.launches = true
		slog.InfoContext(ctx, "created nodeclaim", "NodeClaim", created.Claim.Name, "NodePool", created.Claim.Labels[api.NodePoolLabelKey], "replaces", created.Replaces)
	}
	return errors.Join(failed...)
}

// stay leaves a node alone for a while that cannot be replaced now: it would take the place
// of others in every look.
func (r *run) stay(ctx context.Context, notice disruption.Notice) error {
	r.record(ctx, disruption.AboutClaim(notice.Node.Claim), corev1.EventTypeNormal, "DisruptionBlocked", notice.Message)
	stored, err := r.client.PatchNodeClaim(ctx, notice.Node.Claim.Name, disruption.NotReplaced(r.now()))
	if err == nil {
		notice.Node.Claim = stored
	}
	return err
}

// begin writes on a node's claim what replaces it, and keeps pods off the node.
func (r *run) begin(ctx context.Context, move disruption.Move) error {
	node := move.Node
	stored, err := r.client.PatchNodeClaim(ctx, node.Claim.Name, disruption.ReplacedBy(node.Claim, move.By))
	if err != nil {
		return err
	}
	node.Claim = stored
	reason := string(move.Reason)
	err = r.conditions(ctx, node, func(conditions *[]metav1.Condition) bool {
		return r.set(conditions, node, metav1.Condition{Type: api.ConditionTypeDisruptionReason, Status: metav1.ConditionTrue, Reason: reason, Message: reason})
	})
	if err != nil {
		return err
	}
	if patch := disruption.Taint(node.Node); patch != nil {
		if err := r.client.PatchNode(ctx, node.Node.Name, patch); err != nil {
			return err
		}
	}
	slog.InfoContext(ctx, "disrupting node(s)", "reason", reason, "decision", "replace", "disrupted-node-count", 1, "replacement-node-count", len(move.By),
		"Node", node.Node.Name, "NodeClaim", node.Claim.Name, "NodePool", node.Claim.Labels[api.NodePoolLabelKey], "replaced-by", move.By)
	r.record(ctx, disruption.AboutClaim(node.Claim), corev1.EventTypeNormal, "DisruptionLaunching", fmt.Sprintf("Launching %d replacements: %s", len(move.By), reason))
	return nil
}
