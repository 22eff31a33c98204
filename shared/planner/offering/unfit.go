package offering

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// unfitOffering is an offering whose nodes have too little room for their DaemonSets. The index has
// no number for it, since no plan buys it. EC2 may still launch it if a NodeClaim allows it.
type unfitOffering struct {
	typ    *catalog.InstanceType
	source *catalog.Offering
	// daemonSets are those of the node, or nil if the kubelet alone reserves more than there is.
	daemonSets *daemonSetSum
	// poolType is a pool type of the same name, in Index.PoolTypes. zone and capacityType are positions
	// in market.zones and market.capacityTypes.
	poolType           int
	zone, capacityType int16
}

// listUnfit keeps the unfit offerings of the pool whose instance type has other offerings that fit.
// No NodeClaim names the other types: they are crowded.
func (r *poolTypeReader) listUnfit() {
	if len(r.unfit) == 0 {
		return
	}
	first := map[string]int{}
	for i := len(r.index.PoolTypes) - 1; i >= r.pool.FirstType; i-- {
		first[r.index.PoolTypes[i].Type.Name] = i
	}
	for _, u := range r.unfit {
		if i, ok := first[u.typ.Name]; ok {
			u.poolType = i
			u.zone = position(&r.index.zones, u.source.Zone)
			u.capacityType = position(&r.index.capacityTypes, u.source.CapacityType)
			r.pool.unfit = append(r.pool.unfit, u)
			continue
		}
		r.addCrowded(u)
	}
}

// allowsUnfit reports whether the lists of the product allow an unfit offering.
func (p *Product) allowsUnfit() bool {
	return slices.ContainsFunc(p.unfit, func(u unfitOffering) bool {
		f := p.index.Feasibilities
		return p.types.Has(p.index.PoolTypes[u.poolType].Offerings[0]) &&
			hasAny(p.zones, f.inZone(u.zone)) && hasAny(p.capacityTypes, f.ofCapacityType(u.capacityType))
	})
}

// hasAny reports whether the list has an attribute value, by the offerings with that value. Either
// all or none of them are in the list.
func hasAny(list, offerings dense.Set) bool {
	first := offerings.First()
	return first >= 0 && list.Has(first)
}

// Require takes a NodeClaim's further requirements. They rule out some unfit offerings.
func (p *Product) Require(requirements scheduling.Requirements) {
	p.unfit = slices.DeleteFunc(slices.Clone(p.unfit), func(u unfitOffering) bool {
		return !u.source.AllowedBy(requirements) || !typeMeets(u.typ, requirements)
	})
}
