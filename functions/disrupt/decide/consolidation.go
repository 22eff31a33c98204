package decide

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/disruption"
)

const (
	// checksEach is the number of proposals that one pass checks at most, because each check
	// plans the cluster again. The next pass checks the others.
	checksEach = 10
	// unconsolidatableEvery is the number of minutes after which a node's event Unconsolidatable
	// is repeated: Karpenter's interval.
	unconsolidatableEvery = 15
)

// OpenBudgets reports whether the budgets of a pool that consolidates let a node go. The notices
// say why those of the other pools do not.
func OpenBudgets(seen *disruption.Cluster, now time.Time) (open bool, notices []disruption.Notice) {
	_, closed := seen.Allowances(api.DisruptionReasonUnderutilized, now)
	for i := range seen.Pools {
		pool := &seen.Pools[i]
		notice, shut := closed[pool.Name]
		switch {
		case !pool.ConsolidatesUnderutilized():
		case shut:
			notices = append(notices, notice)
		default:
			open = true
		}
	}
	return open, notices
}

// Propose writes the move on the first of its claims. It reports false for a move that is not
// proposed. Nodes without pods are removed as empty ones, and a node of the move may be leaving by
// now.
func Propose(seen *disruption.Cluster, move *consolidation.Move, now time.Time) (Task, bool) {
	names := claimsOf(move)
	nodes := seen.Movable(names, now)
	if move.Reason == api.DisruptionReasonEmpty || nodes == nil {
		return Task{}, false
	}
	first := nodes[0].Claim
	task := Task{Node: nodes[0], Steps: []Step{PatchClaim{Patch: disruption.Propose(first, names, now)}}}
	task.add(proposed(nodes[0], func(about corev1.ObjectReference) Record {
		return normal(about, "ConsolidationCandidate", Summary(move))
	})...)
	return task, true
}

// proposed are an event about the claim with the proposal, and the same about its node.
func proposed(first *disruption.Node, event func(corev1.ObjectReference) Record) []Step {
	var events []Step
	if first.Node != nil {
		events = append(events, event(disruption.AboutNode(first.Node)))
	}
	return append(events, event(disruption.AboutClaim(first.Claim)))
}

// Due are the proposals that this pass checks.
func Due(proposals []disruption.Proposal, now time.Time) []disruption.Proposal {
	var due []disruption.Proposal
	for _, proposal := range proposals {
		if proposal.Due(now) && len(due) < checksEach {
			due = append(due, proposal)
		}
	}
	return due
}

// Reject withdraws a proposal that does not hold any more.
func Reject(proposal disruption.Proposal, why string) Task {
	claim := proposal.First.Claim
	task := Task{Node: proposal.First, Steps: []Step{
		Log{Message: "consolidation rejected", Attributes: []any{"NodeClaim", claim.Name, "reason", why}},
	}}
	task.add(proposed(proposal.First, func(about corev1.ObjectReference) Record {
		return normal(about, "ConsolidationRejected", why)
	})...)
	task.add(Withdraw(proposal).Steps...)
	return task
}

// Approve withdraws a proposal whose move has begun. A pass that died before this would find that
// the nodes are being replaced.
func Approve(proposal disruption.Proposal, move *consolidation.Move) Task {
	task := Task{Node: proposal.First, Steps: proposed(proposal.First, func(about corev1.ObjectReference) Record {
		return normal(about, "ConsolidationApproved", Summary(move))
	})}
	task.add(Withdraw(proposal).Steps...)
	return task
}

// Withdraw removes the proposal from its claim.
func Withdraw(proposal disruption.Proposal) Task {
	return Task{Node: proposal.First, Steps: []Step{PatchClaim{Patch: disruption.Unpropose(proposal.First.Claim)}}}
}

// Moves turns the move into replacements: each of its nodes waits for everything that is launched.
func Moves(move *consolidation.Move, nodes []*disruption.Node, now time.Time) disruption.Moves {
	moves := disruption.Moves{Together: true}
	var leaving []*api.NodeClaim
	for _, node := range nodes {
		leaving = append(leaving, node.Claim)
	}
	by := slices.Clone(move.Await)
	for number := range move.Launch {
		created := disruption.Created{
			Claim:    disruption.Replacement(move.Launch[number].NodeClaim, leaving, number, now),
			Replaces: claimsOf(move),
		}
		moves.Create = append(moves.Create, created)
		by = append(by, created.Claim.Name)
	}
	for _, node := range nodes {
		candidate := disruption.Candidate{Node: node, Reason: move.Reason}
		moves.Begin = append(moves.Begin, disruption.Move{Candidate: candidate, By: by})
	}
	return moves
}

// Unconsolidatable are the events that say of nodes why they stay. Each node has its own minute in
// unconsolidatableEvery.
func Unconsolidatable(seen *disruption.Cluster, decided *consolidation.Plan, now time.Time) []Record {
	byName := map[string]*disruption.Node{}
	for i := range seen.Nodes {
		byName[seen.Nodes[i].Claim.Name] = &seen.Nodes[i]
	}
	minute := uint32(now.Minute() % unconsolidatableEvery)
	var events []Record
	for _, stay := range decided.Stays {
		node := byName[stay.NodeClaim]
		slot := fnv.New32a()
		_, _ = slot.Write([]byte(stay.NodeClaim))
		if node == nil || node.Node == nil || stay.Because == consolidation.Unsettled ||
			slot.Sum32()%unconsolidatableEvery != minute {
			continue
		}
		events = append(events,
			normal(disruption.AboutNode(node.Node), "Unconsolidatable", stay.Message),
			normal(disruption.AboutClaim(node.Claim), "Unconsolidatable", stay.Message))
	}
	return events
}

// Problems are the notices about settings of pools that consolidation could not read.
func Problems(seen *disruption.Cluster, decided *consolidation.Plan) []disruption.Notice {
	var notices []disruption.Notice
	for _, problem := range decided.Problems {
		for i := range seen.Pools {
			if seen.Pools[i].Name == problem.NodePool {
				notices = append(notices, disruption.Notice{
					Pool: &seen.Pools[i], Message: problem.Message, Mend: true,
				})
			}
		}
	}
	return notices
}

// Summary is the move in one line, for a log or an event.
func Summary(move *consolidation.Move) string {
	text := fmt.Sprintf("%s: removes %d nodes, launches %d, moves %d pods, saves $%.4f/h",
		move.Reason, len(move.Delete), len(move.Launch), move.PodsMoved, move.BilledSavingsPerHour())
	if move.RiskSavedPerHour != 0 {
		text += fmt.Sprintf(", and $%.4f/h of the risk of interruptions", move.RiskSavedPerHour)
	}
	if ended := move.EndsPods(); ended != "" {
		text += ", " + ended
	}
	return text
}

func claimsOf(move *consolidation.Move) []string {
	var names []string
	for _, leaving := range move.Delete {
		names = append(names, leaving.NodeClaim)
	}
	return names
}
