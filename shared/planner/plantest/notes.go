package plantest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
)

// typesForSpot is how many interchangeable instance types a launch of spot capacity should name, if
// that many exist.
const typesForSpot = 15

// Notes lists what is within the rules and still deserves a look, sorted. These are pods on nodes
// of a lighter NodePool that a node of a heavier one could hold, and launches of spot capacity with
// fewer instance types than possible.
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
			c.countSpotTypes(h); h.planned.expected.offering.CapacityType == api.CapacityTypeSpot &&
			named < min(would, typesForSpot) {
			notes = append(notes, fmt.Sprintf("spot: %s names %d instance types, %d would do", h.name, named, would))
		}
	}
	slices.Sort(notes)
	return notes
}

// heavierPoolFor names a pool with a higher weight that could make a node for the pod.
func (c *checker) heavierPoolFor(p *pod, than *pool) string {
	for _, name := range slices.Sorted(maps.Keys(c.pools)) {
		other := c.pools[name]
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

// countSpotTypes counts the types of the pool that could hold all pods of a planned node as spot in
// its expected zone.
func (c *checker) countSpotTypes(h *host) int {
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
