package disruption

import (
	"fmt"
	"slices"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
)

// Moves is what a plan for the pods of nodes that are to leave comes to.
type Moves struct {
	// Begin are the nodes whose pods all find a place.
	Begin []Move
	// Create are the claims to make for them.
	Create []Created
	// Stay are the nodes of which a pod finds none.
	Stay []Notice
	// Together tells that the nodes go all or not at all: what replaces them is worth its
	// price for all of them only.
	Together bool
}

// Move is a node that is to be replaced.
type Move struct {
	Candidate
	// By are the names of the claims that its pods go to and that are not there yet.
	By []string
}

// Created is a claim to make.
type Created struct {
	Claim    api.NodeClaim
	Replaces []string // the names of the claims whose pods it is for
}

// Replicas replaces nodes of pools with spec.replicas, each by a node of its own: what runs
// on them does not decide how many there are. Those that the pool's limit leaves no room for
// beside the old one stay.
func (s *Snapshot) Replicas(candidates []Candidate, now time.Time) (Moves, error) {
	var moves Moves
	count := map[string]int64{}
	for i := range s.Nodes {
		count[s.Nodes[i].pool()]++
	}
	for number, candidate := range candidates {
		pool := candidate.Pool
		if limit, limited := pool.Spec.Limits[api.ResourceNodes]; limited && count[pool.Name] >= limit.Value() {
			moves.Stay = append(moves.Stay, Notice{Node: candidate.Node, Message: fmt.Sprintf("spec.limits.nodes of nodepool %q leaves no room for a replacement", pool.Name)})
			continue
		}
		claim, _, err := Replica(pool)
		if err != nil {
			return moves, fmt.Errorf("nodepool %q: %w", pool.Name, err)
		}
		count[pool.Name]++
		created := Created{Claim: Replacement(*claim, []*api.NodeClaim{candidate.Node.Claim}, number, now), Replaces: []string{candidate.Node.Claim.Name}}
		moves.Create = append(moves.Create, created)
		moves.Begin = append(moves.Begin, Move{Candidate: candidate, By: []string{created.Claim.Name}})
	}
	return moves, nil
}

// MovesOf reads from the plan, which was made without the candidates, where their pods go.
// Nodes of the plan that are for no pod of theirs are somebody else's to launch.
func MovesOf(candidates []Candidate, decided *plan.Plan, now time.Time) Moves {
	owner := map[string]int{} // a pod's candidate, by its UID
	for i, candidate := range candidates {
		for _, pod := range candidate.Node.Pods {
			owner[string(pod.UID)] = i
		}
	}
	var moves Moves
	stays := map[int]bool{}
	for _, unplaced := range decided.Unplaced {
		i, ours := owner[unplaced.Pod.UID]
		if !ours || stays[i] {
			continue
		}
		stays[i] = true
		message := fmt.Sprintf("Pod %s would find no place", unplaced.Pod)
		if len(unplaced.Reasons) > 0 {
			message += ": " + unplaced.Reasons[0].String()
		}
		moves.Stay = append(moves.Stay, Notice{Node: candidates[i].Node, Message: message})
	}
	by := make([][]string, len(candidates))
	for number := range decided.NodeClaims {
		planned := &decided.NodeClaims[number]
		var replaces []*api.NodeClaim
		var indexes []int
		for _, pod := range planned.Pods {
			if i, ours := owner[pod.UID]; ours && !stays[i] && !slices.Contains(indexes, i) {
				indexes, replaces = append(indexes, i), append(replaces, candidates[i].Node.Claim)
			}
		}
		if len(replaces) == 0 {
			continue
		}
		created := Created{Claim: Replacement(planned.NodeClaim, replaces, number, now)}
		for _, i := range indexes {
			by[i] = append(by[i], created.Claim.Name)
			created.Replaces = append(created.Replaces, candidates[i].Node.Claim.Name)
		}
		moves.Create = append(moves.Create, created)
	}
	for _, nomination := range decided.Nominations {
		// A node that has not joined yet has to be waited for as well.
		if i, ours := owner[nomination.Pod.UID]; ours && nomination.NodeName == "" && !slices.Contains(by[i], nomination.NodeClaimName) {
			by[i] = append(by[i], nomination.NodeClaimName)
		}
	}
	for i, candidate := range candidates {
		if !stays[i] {
			moves.Begin = append(moves.Begin, Move{Candidate: candidate, By: by[i]})
		}
	}
	return moves
}
