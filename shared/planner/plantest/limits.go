package plantest

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
)

// usedBy is what a pool's nodes that exist or are on their way have of each resource, and their
// number. Whether a claim that no instance stands for counts is open: all says that it does.
func (c *checker) usedBy(name string, all bool) amounts {
	used := amounts{}
	for i := range c.snapshot.Nodes {
		n := &c.snapshot.Nodes[i]
		if poolOf(n) != name {
			continue
		}
		used[api.ResourceNodes]++
		capacity := amounts{}
		if n.NodeClaim != nil {
			capacity.add(amountsOf(n.NodeClaim.Status.Capacity))
		}
		if n.Node != nil {
			for resource, amount := range amountsOf(n.Node.Status.Capacity) {
				if amount > 0 {
					capacity[resource] = amount
				}
			}
		}
		if len(capacity) == 0 && n.NodeClaim != nil {
			capacity = c.guessCapacity(n.NodeClaim)
		}
		used.add(capacity)
	}
	return used
}

// guessCapacity is the most that a claim which says nothing of its capacity may come to have.
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
	if n.Node != nil && n.Node.Labels[api.NodePoolLabelKey] != "" {
		return n.Node.Labels[api.NodePoolLabelKey]
	}
	if n.NodeClaim != nil {
		return n.NodeClaim.Labels[api.NodePoolLabelKey]
	}
	return ""
}

// plannedFor is the most that the nodes to launch can take of a pool's limits, whatever the
// launches turn out as.
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

// checkLimits: what exists and the most that may come stay within each limit that the plan adds to
// at all.
func (c *checker) checkLimits() {
	for name, p := range c.pools {
		if len(p.Spec.Limits) == 0 {
			continue
		}
		used, planned := c.usedBy(name, false), c.plannedFor(name)
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

// left is how much of each limited resource a pool may still get after the plan, counting whatever
// may count.
func (c *checker) left(p *pool) amounts {
	if p.left == nil {
		p.left = amountsOf(corev1.ResourceList(p.Spec.Limits))
		used, planned := c.usedBy(p.Name, true), c.plannedFor(p.Name)
		for resource := range p.left {
			p.left[resource] -= used[resource] + planned[resource]
		}
	}
	return p.left
}

// roomFor reports whether a pool's limits leave room for a node of this capacity.
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

// reserved is how many instances a capacity reservation has left.
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

// expectedReservations counts the nodes of the plan that are expected to take an instance of each
// reservation.
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
