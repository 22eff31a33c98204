package plantest

import (
	"maps"
	"slices"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
)

// checkMinValues reports a claim whose instance types have fewer values of a label than its pool
// demands. Under BestEffort the claim may have fewer if an annotation says so.
func (c *checker) checkMinValues(h *host) {
	n := h.planned
	for _, r := range n.pool.Spec.Template.Spec.Requirements {
		if r.MinValues == nil {
			continue
		}
		values := map[string]bool{}
		for i := range n.variants {
			if value, ok := n.variants[i].labels.get(r.Key); ok {
				values[value] = true
			}
		}
		kept := 0
		for _, own := range n.claim.NodeClaim.Spec.Requirements {
			if own.Key == r.Key && own.MinValues != nil {
				kept = max(kept, *own.MinValues)
			}
		}
		relaxed := n.claim.NodeClaim.Annotations[api.NodeClaimMinValuesRelaxedAnnotationKey] == "true"
		switch {
		case kept > len(values):
			c.report("minValues", "%s demands %d values of %s, its types have %d", h.name, kept, r.Key, len(values))
		case c.snapshot.MinValuesPolicy == plan.MinValuesBestEffort:
			if kept < *r.MinValues && !relaxed {
				c.report(
					"minValues",
					"%s demands %d values of %s, its pool %d, and no annotation says that this is relaxed",
					h.name,
					kept,
					r.Key,
					*r.MinValues,
				)
			}
		case kept < *r.MinValues:
			c.report("minValues", "%s demands %d values of %s, its pool %d", h.name, kept, r.Key, *r.MinValues)
		}
	}
}

// staysFlexible reports whether a planned node would satisfy its pool's minValues if it were bound
// to the domains of the pod's spread and affinity.
func (c *checker) staysFlexible(p *pod, h *host) bool {
	if c.snapshot.MinValuesPolicy == plan.MinValuesBestEffort || h.planned.pool == nil || h.planned.expected == nil {
		return true
	}
	values := valueCount{}
	for i := range h.planned.variants {
		if v := &h.planned.variants[i]; p.sameDomains(v, h.planned.expected) {
			values.add(h.planned.pool, v)
		}
	}
	return values.enough(h.planned.pool)
}

// enoughValues reports whether enough types could hold the pod alone to satisfy the pool's
// minValues. They count if they have v's zone, capacity type, reservation and chosen labels, and
// v's domains of the pod's spread and affinity.
//
// Types beyond the pool's limits do not count. Karpenter charges a claim with its largest type, and
// removes such types before it looks at minValues.
func (c *checker) enoughValues(p *pod, in *pool, v *variant) bool {
	left := c.left(in)
	values := valueCount{}
	// Which daemon sets run depends on the type.
	beside := len(c.daemons) > 0 && len(p.affinity)+len(p.anti) > 0
	c.newNodes(p, in, func(other *variant, h *host) bool {
		if other.offering.Zone == v.offering.Zone && other.offering.CapacityType == v.offering.CapacityType &&
			other.offering.ReservationID == v.offering.ReservationID &&
			other.offering.Commitment() == v.offering.Commitment() &&
			maps.Equal(other.labels[chosenLayer], v.labels[chosenLayer]) && p.sameDomains(other, v) &&
			c.hasRoom(left, other) && (!beside || c.othersAllow(p, h)) {
			values.add(in, other)
		}
		return true
	})
	return values.enough(in)
}

// sameDomains reports whether two variants are in the same domains of the pod's spread and
// affinity. A launch that may choose between domains counts in none of them. Karpenter therefore
// settles the domains when it places the pod, and minValues must hold for what remains.
func (p *pod) sameDomains(a, b *variant) bool {
	same := func(key string) bool {
		here, ok := a.labels.get(key)
		there, has := b.labels.get(key)
		return ok == has && here == there
	}
	return !slices.ContainsFunc(slices.Concat(p.affinity, p.anti), func(t podTerm) bool { return !same(t.key) }) &&
		!slices.ContainsFunc(p.spread, func(s spreadConstraint) bool { return !same(s.key) })
}

// valueCount has the values of each label with minValues.
type valueCount map[string]map[string]bool

func (n valueCount) add(in *pool, v *variant) {
	for _, r := range in.Spec.Template.Spec.Requirements {
		if value, ok := v.labels.get(r.Key); ok && r.MinValues != nil {
			if n[r.Key] == nil {
				n[r.Key] = map[string]bool{}
			}
			n[r.Key][value] = true
		}
	}
}

func (n valueCount) enough(in *pool) bool {
	return !slices.ContainsFunc(in.Spec.Template.Spec.Requirements, func(r api.NodeSelectorRequirementWithMinValues) bool {
		return r.MinValues != nil && len(n[r.Key]) < *r.MinValues
	})
}
