package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/disruption"
)

const (
	// checksEach bounds how many proposals one look plans anew. The next look goes on.
	checksEach = 10
	// unconsolidatableEvery is how often, in minutes, it is told of a node why it stays:
	// Karpenter's time.
	unconsolidatableEvery = 15
)

// consolidation makes moves that are worth their while. A move is proposed at one look, and
// made at a later one if it is still found to be right.
func (r *run) consolidation(ctx context.Context) error {
	if !slices.ContainsFunc(r.seen.Pools, consolidates) {
		return r.unpropose(ctx, r.seen.Proposals())
	}
	if !r.seen.Calm(r.now()) {
		return nil
	}
	if proposals := r.seen.Proposals(); len(proposals) > 0 {
		return r.confirm(ctx, proposals)
	}
	return r.propose(ctx)
}

// consolidates tells whether the pool wants more than its empty nodes to go.
func consolidates(pool api.NodePool) bool {
	wanted := pool.Spec.Disruption
	return !wanted.ConsolidateAfter.IsNever() && wanted.ConsolidationPolicy != api.ConsolidationPolicyWhenEmpty && pool.Spec.Replicas == nil
}

// consolidationSnapshot is what consolidation decides by, as the look has made it so far.
func (r *run) consolidationSnapshot(ctx context.Context) (*consolidation.Snapshot, error) {
	without, err := r.client.Without(ctx, r.objects, r.seen, nil, r.now())
	if err != nil {
		return nil, fmt.Errorf("reading what nodes cost: %w", err)
	}
	empty, _ := r.seen.Allowances(api.DisruptionReasonEmpty, r.now())
	underutilized, _ := r.seen.Allowances(api.DisruptionReasonUnderutilized, r.now())
	s := &consolidation.Snapshot{Cluster: without, Budgets: r.seen.Budgets, Allowed: map[string]consolidation.Allowance{}, Now: r.now()}
	for pool, allowed := range underutilized {
		s.Allowed[pool] = consolidation.Allowance{Empty: empty[pool], Underutilized: allowed}
	}
	return s, nil
}

// propose writes down the moves that are worth making, once a minute: what is saved is
// counted by the hour. Nodes without pods are emptiness's.
func (r *run) propose(ctx context.Context) error {
	now := r.now()
	if now.Sub(now.Truncate(time.Minute)) >= noticeEvery || r.rest.same(r.objects, now) {
		return nil
	}
	if !r.budgetsOpen(ctx) {
		return nil
	}
	s, err := r.consolidationSnapshot(ctx)
	if err != nil {
		return err
	}
	start := time.Now()
	decided := consolidation.Solve(s)
	slog.InfoContext(ctx, "looked for nodes that are not worth their price", "moves", len(decided.Moves), "waiting-for-budgets", len(decided.Waiting),
		"price", decided.PricePerHour, "price-after", decided.AfterPerHour, "duration", time.Since(start).String())
	r.stays(ctx, decided)
	var failed []error
	proposed := 0
	for i := range decided.Moves {
		move := &decided.Moves[i]
		names := leavingOf(move)
		nodes := r.seen.Movable(names, now)
		if move.Reason == api.DisruptionReasonEmpty || nodes == nil {
			continue
		}
		proposed++
		stored, err := r.client.PatchNodeClaim(ctx, names[0], disruption.Propose(nodes[0].Claim, names, now))
		if err == nil {
			nodes[0].Claim = stored
			r.record(ctx, disruption.AboutClaim(stored), corev1.EventTypeNormal, "ConsolidationCandidate", words(move))
		}
		failed = append(failed, about(nodes[0], err))
	}
	if proposed == 0 && len(decided.Waiting) == 0 {
		r.rest.remember(r.objects, now)
	}
	return errors.Join(failed...)
}

// budgetsOpen tells whether some pool's budgets let a node go, and of the others why not. Where
// none does there is nothing to search for.
func (r *run) budgetsOpen(ctx context.Context) bool {
	_, closed := r.seen.Allowances(api.DisruptionReasonUnderutilized, r.now())
	open := false
	for i := range r.seen.Pools {
		pool := &r.seen.Pools[i]
		notice, shut := closed[pool.Name]
		switch {
		case !consolidates(*pool):
		case shut:
			r.notice(ctx, []disruption.Notice{notice})
		default:
			open = true
		}
	}
	return open
}

// confirm looks at what was proposed as the cluster is now, and begins what still holds.
func (r *run) confirm(ctx context.Context, proposals []disruption.Proposal) error {
	var failed []error
	checked := 0
	for _, proposal := range proposals {
		if !proposal.Due(r.now()) {
			continue
		}
		if checked++; checked > checksEach {
			break
		}
		failed = append(failed, about(proposal.First, r.confirmOne(ctx, proposal)))
	}
	return errors.Join(failed...)
}

func (r *run) confirmOne(ctx context.Context, proposal disruption.Proposal) error {
	nodes := r.seen.Movable(proposal.Claims, r.now())
	if len(nodes) == 0 {
		return r.reject(ctx, proposal, "a node of the move is gone, or is disrupted already")
	}
	s, err := r.consolidationSnapshot(ctx)
	if err != nil {
		return err
	}
	move, err := consolidation.Check(s, proposal.Claims)
	if err != nil {
		return r.reject(ctx, proposal, err.Error())
	}
	slog.InfoContext(ctx, "consolidating", "move", words(move), "pods", move.PodsMoved, "saved", move.SavedPerHour)
	if err := r.carryOut(ctx, r.movesOf(move, nodes)); err != nil {
		return err
	}
	r.record(ctx, disruption.AboutClaim(proposal.First.Claim), corev1.EventTypeNormal, "ConsolidationApproved", words(move))
	// Begun: one who died before this would find that the nodes are being replaced.
	return r.unpropose(ctx, []disruption.Proposal{proposal})
}

// movesOf is the move as it is carried out: each of its nodes waits for all that is launched.
func (r *run) movesOf(move *consolidation.Move, nodes []*disruption.Node) disruption.Moves {
	moves := disruption.Moves{Together: true}
	var leaving []*api.NodeClaim
	for _, node := range nodes {
		leaving = append(leaving, node.Claim)
	}
	by := slices.Clone(move.Await)
	for number := range move.Launch {
		created := disruption.Created{Claim: disruption.Replacement(move.Launch[number].NodeClaim, leaving, number, r.now()), Replaces: leavingOf(move)}
		moves.Create = append(moves.Create, created)
		by = append(by, created.Claim.Name)
	}
	for _, node := range nodes {
		moves.Begin = append(moves.Begin, disruption.Move{Candidate: disruption.Candidate{Node: node, Reason: move.Reason}, By: by})
	}
	return moves
}

// reject takes a proposal back that holds no more.
func (r *run) reject(ctx context.Context, proposal disruption.Proposal, why string) error {
	slog.InfoContext(ctx, "a move is not made", "NodeClaim", proposal.First.Claim.Name, "reason", why)
	r.record(ctx, disruption.AboutClaim(proposal.First.Claim), corev1.EventTypeNormal, "ConsolidationRejected", why)
	return r.unpropose(ctx, []disruption.Proposal{proposal})
}

func (r *run) unpropose(ctx context.Context, proposals []disruption.Proposal) error {
	var failed []error
	for _, proposal := range proposals {
		stored, err := r.client.PatchNodeClaim(ctx, proposal.First.Claim.Name, disruption.Unpropose(proposal.First.Claim))
		if err == nil {
			proposal.First.Claim = stored
		}
		failed = append(failed, about(proposal.First, err))
	}
	return errors.Join(failed...)
}

// stays tells of nodes why they stay, of each once in unconsolidatableEvery minutes, and what
// is wrong with the settings of pools.
func (r *run) stays(ctx context.Context, decided *consolidation.Plan) {
	byName := map[string]*disruption.Node{}
	for i := range r.seen.Nodes {
		byName[r.seen.Nodes[i].Claim.Name] = &r.seen.Nodes[i]
	}
	minute := uint32(r.now().Minute() % unconsolidatableEvery)
	for _, stay := range decided.Stays {
		node := byName[stay.NodeClaim]
		slot := fnv.New32a()
		_, _ = slot.Write([]byte(stay.NodeClaim))
		if node == nil || node.Node == nil || stay.Because == consolidation.Unsettled || slot.Sum32()%unconsolidatableEvery != minute {
			continue
		}
		r.record(ctx, disruption.AboutNode(node.Node), corev1.EventTypeNormal, "Unconsolidatable", stay.Message)
		r.record(ctx, disruption.AboutClaim(node.Claim), corev1.EventTypeNormal, "Unconsolidatable", stay.Message)
	}
	var notices []disruption.Notice
	for _, problem := range decided.Problems {
		for i := range r.seen.Pools {
			if r.seen.Pools[i].Name == problem.NodePool {
				notices = append(notices, disruption.Notice{Pool: &r.seen.Pools[i], Message: problem.Message})
			}
		}
	}
	r.notice(ctx, notices)
}

func leavingOf(move *consolidation.Move) []string {
	var names []string
	for _, leaving := range move.Delete {
		names = append(names, leaving.NodeClaim)
	}
	return names
}

// words say what a move comes to.
func words(move *consolidation.Move) string {
	return fmt.Sprintf("%s: %d nodes go, %d are launched, %d pods move, $%.4f an hour is saved", move.Reason, len(move.Delete), len(move.Launch), move.PodsMoved, move.SavedPerHour)
}
