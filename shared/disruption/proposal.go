package disruption

import (
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
)

// ProposedAnnotationKey is, on the first claim of a move that is to be made for its price, when
// it was proposed (RFC 3339) and the names of the claims whose nodes it takes away, with
// commas between. It is looked at again, ConfirmAfter later, before anything is done.
const ProposedAnnotationKey = api.OwnGroup + "/proposed"

// Proposal is a move that was found to be worth its while.
type Proposal struct {
	// First is the node whose claim says so.
	First  *Node
	Claims []string
	At     time.Time
}

// Due tells whether the proposal is to be looked at again.
func (p *Proposal) Due(now time.Time) bool { return now.Sub(p.At) >= ConfirmAfter }

// Proposals are those of the snapshot. One that cannot be read is due, and proposes nothing.
func (s *Snapshot) Proposals() []Proposal {
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
	return map[string]any{"metadata": map[string]any{
		"resourceVersion": first.ResourceVersion, "annotations": map[string]any{ProposedAnnotationKey: text},
	}}
}

// Unpropose is the patch that takes a proposal back, or away once it is begun.
func Unpropose(first *api.NodeClaim) map[string]any {
	return map[string]any{"metadata": map[string]any{
		"resourceVersion": first.ResourceVersion, "annotations": map[string]any{ProposedAnnotationKey: nil},
	}}
}

// Movable are the nodes of the claims, nil if one of them is gone or is not to be moved now.
func (s *Snapshot) Movable(claims []string, now time.Time) []*Node {
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

// Calm tells whether no pod has begun to wait for a node of late: room that it is about to
// take is not to be counted on.
func (s *Snapshot) Calm(now time.Time) bool { return !newPodWaits(s, now) }

// Replaced are the claims whose nodes are being replaced: their pods are on their way to
// other places.
func (s *Snapshot) Replaced() []*api.NodeClaim {
	var replaced []*api.NodeClaim
	for i := range s.Nodes {
		if node := &s.Nodes[i]; node.replaced() && !node.leaving() {
			replaced = append(replaced, node.Claim)
		}
	}
	return replaced
}

// Allowances are how many more nodes of each pool the budgets let go for the reason now, and
// why those let none go that do not.
func (s *Snapshot) Allowances(reason api.DisruptionReason, now time.Time) (allowed map[string]int, closed map[string]Notice) {
	counts := s.counts()
	allowed, closed = map[string]int{}, map[string]Notice{}
	for i := range s.Pools {
		pool := &s.Pools[i]
		number, err := Allowed(pool, counts[pool.Name], reason, now)
		if allowed[pool.Name] = number; number == 0 {
			closed[pool.Name] = Notice{Pool: pool, Message: budgetMessage(reason, err)}
		}
	}
	return allowed, closed
}
