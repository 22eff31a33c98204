package churn

import (
	"fmt"
	"maps"
	"slices"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/planning"
)

// poolName is the only NodePool.
const poolName = "default"

// move is a move of consolidation that was begun.
type move struct{ ends, awaits []*node }

// provision buys nodes for the pods that wait.
func (c *cluster) provision() error {
	if len(c.pending) == 0 {
		return nil
	}
	p := planning.Solve(c.snapshot())
	if len(p.Unplaced) > 0 {
		return fmt.Errorf("a pod has no place: %+v", p.Unplaced[0])
	}
	for i := range p.NodeClaims {
		n, err := c.launch(&p.NodeClaims[i])
		if err != nil {
			return err
		}
		for _, ref := range p.NodeClaims[i].Pods {
			n.planned[ref.Name] = true
		}
	}
	return nil
}

// consolidate begins the moves that Whittle finds, within a budget of 10 %. It waits while pods wait.
func (c *cluster) consolidate() (begun []move, err error) {
	if len(c.pending) > 0 {
		return nil, nil
	}
	budget := max(1, (len(c.nodes)+9)/10)
	p := consolidation.Solve(&consolidation.Input{
		Cluster: c.snapshot(), Now: c.time(),
		Allowed: map[string]consolidation.Allowance{poolName: {Empty: budget, Underutilized: budget}},
	})
	byClaim := map[string]*node{}
	for _, n := range c.nodes {
		byClaim[n.NodeClaim.Name] = n
	}
	for i := range p.Moves {
		var made move
		for _, leaving := range p.Moves[i].Delete {
			made.ends = append(made.ends, byClaim[leaving.NodeClaim])
		}
		for j := range p.Moves[i].Launch {
			n, err := c.launch(&p.Moves[i].Launch[j])
			if err != nil {
				return nil, err
			}
			made.awaits = append(made.awaits, n)
		}
		begun = append(begun, made)
	}
	return begun, nil
}

// carryOut ends the nodes of the moves whose new nodes have joined, and returns the other moves.
func (c *cluster) carryOut(moves []move) (rest []move) {
	for _, m := range moves {
		if slices.ContainsFunc(m.awaits, func(n *node) bool { return !n.joined }) {
			rest = append(rest, m)
			continue
		}
		for _, n := range m.ends {
			for _, p := range n.pods {
				c.evict(p)
			}
			c.nodes = slices.DeleteFunc(c.nodes, func(other *node) bool { return other == n })
		}
	}
	slices.SortFunc(c.pending, func(a, b *pod) int { return a.number - b.number })
	return rest
}

// steer gives nodes the soft taint that Whittle gives them, where the NodePool asks for it.
func (c *cluster) steer() {
	seen := disruption.Cluster{Pools: c.base.NodePools}
	byClaim := map[string]*node{}
	for _, n := range c.nodes {
		one := disruption.Node{Claim: n.NodeClaim}
		if n.joined {
			one.Node = n.Node.Node
		}
		for _, name := range slices.Sorted(maps.Keys(n.pods)) {
			one.Pods = append(one.Pods, &n.pods[name].Pod)
		}
		seen.Nodes, seen.Running = append(seen.Nodes, one), append(seen.Running, one.Pods...)
		byClaim[n.NodeClaim.Name] = n
	}
	for _, p := range c.pending {
		seen.Waiting = append(seen.Waiting, &p.Pod)
	}
	price := func(claim *api.NodeClaim) (float64, bool) { return byClaim[claim.Name].price, true }
	changes, _ := disruption.Steer(&seen, price, c.time())
	for _, change := range changes {
		n := byClaim[change.Node.Claim.Name]
		n.Node.Node = n.Node.Node.DeepCopy()
		n.Node.Node.Spec.Taints = disruption.SteeredTaints(n.Node.Node, change.Candidate)
		n.info.SetNode(n.Node.Node)
	}
	c.result.Steerings += len(changes)
}
