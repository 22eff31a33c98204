package plantest

import (
	"fmt"
	"slices"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
)

// typesForSpot is how many interchangeable instance types a launch of spot capacity should name
// where so many exist.
const typesForSpot = 15

// Notes lists what is within the rules and still worth a look: pods on nodes of a lighter NodePool
// that a heavier one could hold alone, and launches of spot capacity that name fewer instance types
// than would do.
func Notes(s *plan.Snapshot, p *plan.Plan) []string {
	c := newChecker(s, p)
	c.placements()
	var notes []string
	for _, h := range c.hosts[len(s.Nodes):] {
		if h.planned.pool == nil || h.planned.expected == nil {
			continue
		}
		for _, placed := range h.placed {
			if heavier := c.heavierPoolFor(placed, h.planned.pool); heavier != "" {
				notes = append(
					notes,
					fmt.Sprintf(
						"weight: %s is on %s of pool %s, and pool %s is heavier and could hold it",
						placed.name,
						h.name,
						h.planned.pool.Name,
						heavier,
					),
				)
			}
		}
		if named, would := len(h.planned.claim.InstanceTypes),
			c.typesThatWouldDo(h); h.planned.expected.offering.CapacityType == api.CapacityTypeSpot &&
			named < min(would, typesForSpot) {
			notes = append(notes, fmt.Sprintf("spot: %s names %d instance types, %d would do", h.name, named, would))
		}
	}
	slices.Sort(notes)
	return notes
}

// heavierPoolFor names a pool with a higher weight that could make a node for the pod.
func (c *checker) heavierPoolFor(p *pod, than *pool) string {
	for name, other := range c.pools {
		if weight(other) > weight(than) && c.newNodeFor(p, other) != "" {
			return name
		}
	}
	return ""
}

func weight(p *pool) int32 {
	if p.Spec.Weight == nil {
		return 0
	}
	return *p.Spec.Weight
}

// typesThatWouldDo counts the types of the pool that could hold all pods of a planned node, in the
// zone that it is expected in and as spot.
func (c *checker) typesThatWouldDo(h *host) int {
	n := h.planned
	sum := amounts{}
	for _, p := range h.placed {
		sum.add(p.requests)
	}
	count := 0
	for i := range n.pool.types {
		t := &n.pool.types[i]
		known := c.labelsOf(t)
		for j := range t.Offerings {
			o := &t.Offerings[j]
			if !o.Available || o.CapacityType != api.CapacityTypeSpot || o.Zone != n.expected.offering.Zone {
				continue
			}
			v := variant{t, o, append(labelSet{known.offering[j], known.own}, n.expected.labels[2:]...)}
			if _, met := v.labels.meets(n.pool.Spec.Template.Spec.Requirements); met && len(c.variantFaults(h, &v, sum)) == 0 {
				count++
				break
			}
		}
	}
	return count
}
