package disruption

import (
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
)

// ProposedAnnotationKey is an annotation of the first claim of a consolidation move. It has the
// time (RFC 3339) of the proposal and the names of the claims that the move deletes, separated by
// commas. A pass validates the proposal ValidateAfter later. Nothing happens before.
const ProposedAnnotationKey = api.ProposedAnnotationKey

// Proposal is a move that consolidation has found.
type Proposal struct {
	// First is the node whose claim has the annotation.
	First  *Node
	Claims []string
	At     time.Time
}

// Due tells whether the proposal is due for its validation.
func (p *Proposal) Due(now time.Time) bool { return now.Sub(p.At) >= ValidateAfter }

// Proposals returns the proposals of the snapshot. A proposal that cannot be read is due, and names
// no claims.
func (s *Cluster) Proposals() []Proposal {
	var proposals []Proposal
	for i := range s.Nodes {
		node := &s.Nodes[i]
		text, proposed := node.Claim.Annotations[ProposedAnnotationKey]
		if !proposed || node.leaving() {
			continue
		}
		proposal := Proposal{First: node}
		names := strings.Split(text, ",")
		if at, err := time.Parse(time.RFC3339, names[0]); err == nil {
			proposal.At, proposal.Claims = at, names[1:]
		}
		proposals = append(proposals, proposal)
	}
	return proposals
}

// Propose is the patch that proposes a move on the first of its claims.
func Propose(first *api.NodeClaim, claims []string, now time.Time) map[string]any {
	text := strings.Join(append([]string{now.UTC().Format(time.RFC3339)}, claims...), ",")
	return annotateVersion(first, map[string]any{ProposedAnnotationKey: text})
}

// Unpropose is the patch that removes a proposal.
func Unpropose(first *api.NodeClaim) map[string]any {
	return annotateVersion(first, map[string]any{ProposedAnnotationKey: nil})
}

// Movable returns the nodes of the claims. It returns nil if one of them is gone or may not be
// replaced now.
func (s *Cluster) Movable(claims []string, now time.Time) []*Node {
	byName := map[string]*Node{}
	for i := range s.Nodes {
		byName[s.Nodes[i].Claim.Name] = &s.Nodes[i]
	}
	nodes := make([]*Node, 0, len(claims))
	for _, name := range claims {
		node := byName[name]
		if node == nil || !node.mayBeReplaced(now) {
			return nil
		}
		nodes = append(nodes, node)
	}
	return nodes
}

// Replaced are the claims whose nodes are being replaced. Their pods will move to other nodes.
func (s *Cluster) Replaced() []*api.NodeClaim {
	var replaced []*api.NodeClaim
	for i := range s.Nodes {
		if node := &s.Nodes[i]; node.replaced() && !node.leaving() {
			replaced = append(replaced, node.Claim)
		}
	}
	return replaced
}
