package churn

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/consolidation"
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

// steer gives a part of the nodes a soft taint: those that cost most for each pod.
func (c *cluster) steer(part float64) {
	if part == 0 {
		return
	}
	var ranked []*node
	for _, n := range c.nodes {
		if n.joined {
			ranked = append(ranked, n)
		}
	}
	price := func(n *node) float64 { return n.price / float64(1+len(n.pods)) }
	slices.SortFunc(ranked, func(a, b *node) int {
		return cmp.Or(cmp.Compare(price(b), price(a)), cmp.Compare(a.ready, b.ready))
	})
	for i, n := range ranked {
		// The plan's own view has no soft taints: they are no property of the NodePool.
		n.shown = n.Node.Node
		if float64(i) < part*float64(len(ranked)) {
			n.shown = n.Node.Node.DeepCopy()
			n.shown.Spec.Taints = []corev1.Taint{{Key: "steered", Effect: corev1.TaintEffectPreferNoSchedule}}
		}
		n.info.SetNode(n.shown)
	}
}
