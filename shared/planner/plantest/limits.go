package plantest

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
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
		used[api.ResourceNodes]++
		capacity := amountsOf(n.NodeClaim.Status.Capacity)
		if len(capacity) == 0 && n.Node != nil {
			capacity = amountsOf(n.Node.Status.Capacity)
		}
		if len(capacity) == 0 {
			capacity = c.guessCapacity(n.NodeClaim)
		}
		used.add(capacity)
	}
	return used
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
			for resource, amount := range c.labelsOf(h.planned.variants[i].instanceType).capacity {
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

// reserved returns how many instances a capacity reservation has left.
func (c *checker) reserved(id string) int {
	most := 0
	for _, p := range c.pools {
		for i := range p.types {
			for j := range p.types[i].Offerings {
				if o := &p.types[i].Offerings[j]; o.ReservationID == id {
					most = max(most, o.ReservationCapacity)
				}
			}
		}
	}
	return most
}

// expectedReservations counts the planned nodes that expect an instance of each reservation.
func (c *checker) expectedReservations() map[string]int {
	used := map[string]int{}
	for i := range c.plan.NodeClaims {
		if claim := &c.plan.NodeClaims[i]; len(claim.Offerings) > 0 && claim.Offerings[0].ReservationID != "" {
			used[claim.Offerings[0].ReservationID]++
		}
	}
	return used
}

func (c *checker) checkReservations() {
	for id, n := range c.expectedReservations() {
		if most := c.reserved(id); n > most {
			c.report("reservations", "%d nodes are to take an instance of %s, which has %d", n, id, most)
		}
	}
}
