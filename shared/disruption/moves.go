package disruption

import (
	"fmt"
	"slices"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
)

// Moves are the steps that a plan for the pods of the nodes to delete requires.
type Moves struct {
	// Begin are the nodes whose pods all find a place.
	Begin []Move
	// Create are the claims to make for them.
	Create []Created
	// Stay are the nodes of which a pod finds no place.
	Stay []Notice
	// Together says that either all of the nodes go or none, because their replacement is worth its
	// price only for all of them.
	Together bool
}

// Move is a node to replace.
type Move struct {
	Candidate
	// By are the names of the claims that its pods go to and that are not initialized yet.
	By []string
}

// Created is a claim to make.
type Created struct {
	Claim api.NodeClaim
	// Replaces are the names of the claims whose pods it is for.
	Replaces []string
}

// Moves reads the destinations of the candidates' pods from the plan, which was made without the
// candidates. It leaves out new nodes for other pods only, because provisioning launches those.
func (s *Cluster) Moves(candidates []Candidate, decided *plan.Plan, now time.Time) Moves {
	r := planReader{
		candidates: candidates,
		owner:      map[string]int{},
		stays:      map[int]bool{},
		by:         make([][]string, len(candidates)),
	}
	for i, candidate := range candidates {
		for _, pod := range candidate.Node.Pods {
			r.owner[string(pod.UID)] = i
		}
	}
	var moves Moves
	moves.Stay = r.unplaced(decided)
	moves.Create = r.created(decided, now)
	r.awaited(decided, s.initialized())
	for i, candidate := range candidates {
		if !r.stays[i] {
			moves.Begin = append(moves.Begin, Move{Candidate: candidate, By: r.by[i]})
		}
	}
	return moves
}

// planReader reads a plan for the pods of candidates.
type planReader struct {
	candidates []Candidate
	// owner is the number of a pod's candidate, by the pod's UID.
	owner map[string]int
	// stays are the candidates of which a pod finds no place, by is Move.By of the candidates.
	stays map[int]bool
	by    [][]string
}

// unplaced says for each candidate that stays which pod finds no place.
func (r *planReader) unplaced(decided *plan.Plan) []Notice {
	var notices []Notice
	for _, unplaced := range decided.Unplaced {
		i, ours := r.owner[unplaced.Pod.UID]
		if !ours || r.stays[i] {
			continue
		}
		r.stays[i] = true
		message := fmt.Sprintf("Pod %s would find no place", unplaced.Pod)
		if len(unplaced.Reasons) > 0 {
			message += ": " + unplaced.Reasons[0].String()
		}
		notices = append(notices, Notice{Node: r.candidates[i].Node, Message: message})
	}
	return notices
}

// created are the claims that the plan makes for candidates that do not stay.
func (r *planReader) created(decided *plan.Plan, now time.Time) []Created {
	var created []Created
	for number := range decided.NodeClaims {
		planned := &decided.NodeClaims[number]
		indexes := r.candidatesOf(planned.Pods)
		if len(indexes) == 0 {
			continue
		}
		var replaces []*api.NodeClaim
		var names []string
		for _, i := range indexes {
			claim := r.candidates[i].Node.Claim
			replaces, names = append(replaces, claim), append(names, claim.Name)
		}
		made := Created{Claim: Replacement(planned.NodeClaim, replaces, number, now), Replaces: names}
		for _, i := range indexes {
			r.by[i] = append(r.by[i], made.Claim.Name)
		}
		created = append(created, made)
	}
	return created
}

// candidatesOf returns the numbers of the candidates that the pods run on, without those that stay.
func (r *planReader) candidatesOf(pods []plan.PodRef) []int {
	var indexes []int
	for _, pod := range pods {
		if i, ours := r.owner[pod.UID]; ours && !r.stays[i] && !slices.Contains(indexes, i) {
			indexes = append(indexes, i)
		}
	}
	return indexes
}

// awaited adds the nodes that take pods and have not been ready yet, whether they have joined or
// not.
func (r *planReader) awaited(decided *plan.Plan, initialized map[string]bool) {
	for _, nomination := range decided.Nominations {
		i, ours := r.owner[nomination.Pod.UID]
		name := nomination.NodeClaimName
		if ours && name != "" && !initialized[name] && !slices.Contains(r.by[i], name) {
			r.by[i] = append(r.by[i], name)
		}
	}
}

// initialized returns the names of the claims whose nodes have been ready for pods.
func (s *Cluster) initialized() map[string]bool {
	initialized := map[string]bool{}
	for i := range s.Nodes {
		initialized[s.Nodes[i].Claim.Name] = s.Nodes[i].initialized()
	}
	return initialized
}
