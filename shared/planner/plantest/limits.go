package plantest

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
)

// usedBy returns the capacity and the number of a pool's nodes that exist or are in flight, without those
// whose instances are to end. A claim without capacity counts with the largest instance that it may become.
func (c *checker) usedBy(name string) amounts {
	used := amounts{}
	for i := range c.snapshot.Nodes {
		n := &c.snapshot.Nodes[i]
		if poolOf(n) != name || isLeaving(n) {
			continue
		}
		used.add(c.usedByNode(n))
	}
	return used
}

// usedByNode returns what one node takes of limits.
func (c *checker) usedByNode(n *plan.Node) amounts {
	capacity := amounts{}
	if n.NodeClaim != nil {
		capacity = amountsOf(n.NodeClaim.Status.Capacity)
	}
	if len(capacity) == 0 && n.Node != nil {
		capacity = amountsOf(n.Node.Status.Capacity)
	}
	if len(capacity) == 0 {
		capacity = c.guessCapacity(n.NodeClaim)
	}
	capacity[api.ResourceNodes], capacity[api.ResourceDollarsPerHour] = 1, c.priceOf(n.NodeClaim)
	return capacity
}

// guessCapacity returns the most of each resource that a claim without capacity may get.
func (c *checker) guessCapacity(claim *api.NodeClaim) amounts {
	most := amounts{}
	if in := c.pools[claim.Labels[api.NodePoolLabelKey]]; in != nil {
		name, settled := claim.Labels[corev1.LabelInstanceTypeStable]
		for i := range in.types {
			if settled && in.types[i].Name != name {
				continue
			}
			for resource, amount := range c.labelsOf(&in.types[i]).capacity {
				most[resource] = max(most[resource], amount)
			}
		}
	}
	return most
}

func poolOf(n *plan.Node) string {
	if n.NodeClaim != nil {
		return n.NodeClaim.Labels[api.NodePoolLabelKey]
	}
	return ""
}

// plannedFor returns the most of a pool's limits that the planned nodes can take, over all
// variants.
func (c *checker) plannedFor(name string) amounts {
	sum := amounts{}
	for _, h := range c.hosts[len(c.snapshot.Nodes):] {
		if h.planned.pool == nil || h.planned.pool.Name != name {
			continue
		}
		most := amounts{api.ResourceNodes: 1}
		for i := range h.planned.variants {
			for resource, amount := range c.takes(&h.planned.variants[i]) {
				most[resource] = max(most[resource], amount)
			}
		}
		sum.add(most)
	}
	return sum
}

// checkLimits reports a pool whose existing and planned nodes may exceed a limit. A limit that is
// exceeded already is no fault if the plan adds nothing to it.
func (c *checker) checkLimits() {
	for name, p := range c.pools {
		if len(p.Spec.Limits) == 0 {
			continue
		}
		used, planned := c.usedBy(name), c.plannedFor(name)
		for resource, most := range amountsOf(corev1.ResourceList(p.Spec.Limits)) {
			if planned[resource] > 0 && used[resource]+planned[resource] > most {
				c.report(
					"limits",
					"pool %s has %d of %s and may get %d, its limit is %d",
					name,
					used[resource],
					resource,
					planned[resource],
					most,
				)
			}
		}
	}
}

// left returns how much of each limited resource the pool may still get after the plan.
func (c *checker) left(p *pool) amounts {
	if p.left == nil {
		p.left = amountsOf(corev1.ResourceList(p.Spec.Limits))
		used, planned := c.usedBy(p.Name), c.plannedFor(p.Name)
		for resource := range p.left {
			p.left[resource] -= used[resource] + planned[resource]
		}
	}
	return p.left
}

// roomFor reports whether the rest of a pool's limits has room for a node of this capacity.
func roomFor(left, capacity amounts) bool {
	for resource, amount := range left {
		want := capacity[resource]
		if resource == api.ResourceNodes {
			want = 1
		}
		if want > amount {
			return false
		}
	}
	return true
}

// stockOf tells what the offering takes from, how much, and what is left of it: instances of a reservation, or units
// of a commitment. The id is empty for an offering that takes from nothing.
func stockOf(o *catalog.Offering) (id string, units, left int) {
	if o.Coverage != nil {
		return o.Coverage.Commitment, o.Coverage.Units, o.Coverage.Left
	}
	return o.ReservationID, 1, o.ReservationCapacity
}

// stockLeft returns what a stock has left.
func (c *checker) stockLeft(stock string) int {
	most := 0
	for _, p := range c.pools {
		for i := range p.types {
			for j := range p.types[i].Offerings {
				if id, _, left := stockOf(&p.types[i].Offerings[j]); id == stock {
					most = max(most, left)
				}
			}
		}
	}
	return most
}

// taken counts what the planned nodes are expected to take of each stock.
func (c *checker) taken() map[string]int {
	taken := map[string]int{}
	for _, h := range c.hosts[len(c.snapshot.Nodes):] {
		if len(h.planned.claim.Offerings) == 0 {
			continue
		}
		choice, units := h.planned.claim.Offerings[0], 1
		if h.planned.expected != nil {
			_, units, _ = stockOf(h.planned.expected.offering)
		}
		if id := choice.ReservationID + choice.Commitment; id != "" {
			taken[id] += units
		}
	}
	return taken
}

// hasStock reports whether the planned nodes leave enough for another one of the offering.
func (c *checker) hasStock(o *catalog.Offering) bool {
	id, units, _ := stockOf(o)
	return id == "" || c.taken()[id]+units <= c.stockLeft(id)
}

func (c *checker) checkStocks() {
	for id, n := range c.taken() {
		if most := c.stockLeft(id); n > most {
			c.report("stocks", "nodes are to take %d of %s, which has %d", n, id, most)
		}
	}
}
