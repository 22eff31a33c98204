package claims

import (
	"cmp"
	"iter"
	"slices"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/placement"
)

const (
	// MaximumTypes is the greatest number of instance types of a claim, as in Karpenter, unless the
	// snapshot sets another.
	MaximumTypes = 60
	// spotPriceFactor bounds the price of spot offerings, as a multiple of the cheapest, once a claim
	// has plan.MinimumSpotTypes types. EC2 chooses spot by capacity first, and so perhaps the dearest.
	spotPriceFactor = 1.5
	// maximumOfferings bounds the offerings of a claim: MaximumTypes in up to six zones.
	maximumOfferings = 6 * MaximumTypes
)

// Alternatives are the offerings of the claim that the node gets where limits and stocks leave enough for
// each of them, the cheapest first. There is at least one.
func Alternatives(state *placement.State, n *placement.PlannedNode) []int {
	fits := state.AlternativesFor(n).Clone()
	return keepAlternatives(state, n, fits, fits)
}

// keepAlternatives chooses the offerings of a node's claim, the cheapest first. fits are the node's
// alternatives that limits allow in its place, and open are those whose stock has enough left for
// the node.
func keepAlternatives(state *placement.State, n *placement.PlannedNode, fits, open dense.Set) []int {
	offers := state.Offers
	own := offers.PoolTypeOf(n.Offering)
	affordable := func(yield func(int) bool) {
		for j := range open.All() {
			if mayBecome(offers, n.Offering, j) && !yield(j) {
				return
			}
		}
	}
	if len(own.Pool.MinValues) == 0 {
		return state.ExpressibleWithin(n, keepCheapest(state, affordable, open), fits)
	}
	kept := state.ExpressibleWithin(n, keepForMinValues(state, own.Pool, slices.Collect(affordable)), fits)
	if offers.StrictMinValues(own.Pool) && !offers.MeetsMinValues(own.Pool, slices.Values(kept)) {
		// The cheapest let in others that hold less, or limits leave too little for them.
		if needed, _ := state.NeededForMinValues(n); needed != nil {
			kept = needed
		}
	}
	return kept
}

// mayBecome reports whether a node that is planned for one offering may be launched with the other. A node of a
// reservation may become one of any reservation. One that a commitment pays for stays with that, and takes no more
// of it. No other node takes of a stock.
func mayBecome(offers *offering.Index, own, other int) bool {
	from, to := &offers.Offerings[own], &offers.Offerings[other]
	if covered := from.Source.Coverage != nil; covered || to.Source.Coverage != nil {
		return from.Stock == to.Stock && to.Units <= from.Units
	}
	return (from.Stock < 0) == (to.Stock < 0)
}

// mostTypes is the greatest number of instance types of a claim.
func mostTypes(offers *offering.Index) int {
	return cmp.Or(offers.Work.Snapshot.MaximumTypes, MaximumTypes)
}

// keepCheapest keeps the offerings of the cheapest one's capacity type, of up to MaximumTypes
// types. It drops spot offerings that cost more than an on-demand one. offerings are those of open
// that limits allow.
func keepCheapest(state *placement.State, offerings iter.Seq[int], open dense.Set) []int {
	offers := state.Offers
	var cheapest *catalog.Offering
	poolTypes, types := dense.NewSet(len(offers.PoolTypes)), 0
	kept := offers.Feasibilities.ScratchList[:0]
	full, most := false, mostTypes(offers)
	for j := range offerings {
		o := &offers.Offerings[j]
		if cheapest == nil {
			cheapest = o.Source
		}
		spot := cheapest.CapacityType == api.CapacityTypeSpot
		if o.Source.CapacityType != cheapest.CapacityType {
			if spot {
				break // All further spot offerings cost at least as much as this one.
			}
			continue
		}
		full = full || types == most ||
			spot && types >= plan.MinimumSpotTypes && o.Source.Price > spotPriceFactor*cheapest.Price
		if full && !spot {
			kept = appendFurther(state, kept, poolTypes, open, j)
			break
		}
		if full && len(kept) >= maximumOfferings {
			break
		}
		if !poolTypes.Has(int(o.PoolType)) {
			if full {
				continue
			}
			poolTypes.Add(int(o.PoolType))
			types++
		}
		kept = append(kept, j)
	}
	offers.Feasibilities.ScratchList = kept
	return slices.Clone(kept)
}

// appendFurther appends the offerings of the pool types from the number from on, up to
// maximumOfferings. They have the capacity type of the first kept one. A look at all further
// offerings would find the same, and take longer.
func appendFurther(state *placement.State, kept []int, poolTypes, open dense.Set, from int) []int {
	offers := state.Offers
	first := &offers.Offerings[kept[0]]
	before := len(kept)
	for i := range poolTypes.All() {
		for _, j := range offers.PoolTypes[i].Offerings {
			if o := &offers.Offerings[j]; j >= from && open.Has(j) &&
				o.Source.CapacityType == first.Source.CapacityType {
				kept = append(kept, j)
			}
		}
	}
	slices.Sort(kept[before:])
	return kept[:min(len(kept), max(before, maximumOfferings))]
}

// keepForMinValues keeps the cheapest types, and those that the NodePool's minValues need, however
// dear. It keeps one capacity type if minValues can be met with that.
func keepForMinValues(state *placement.State, pool *offering.Pool, offerings []int) []int {
	offers := state.Offers
	if _, ok := pool.MinValues[api.CapacityTypeLabelKey]; !ok {
		cheapest := offers.Offerings[offerings[0]].Source.CapacityType
		alike := slices.DeleteFunc(
			slices.Clone(offerings),
			func(j int) bool { return offers.Offerings[j].Source.CapacityType != cheapest },
		)
		if offers.MeetsMinValues(pool, slices.Values(alike)) {
			offerings = alike
		}
	}
	// First the types that bring a value which a label still lacks, then the cheapest.
	poolTypes := map[int32]bool{}
	for _, key := range dense.SortedKeys(pool.MinValues) {
		values := map[string]bool{}
		for _, j := range offerings {
			if len(values) >= pool.MinValues[key] {
				break
			}
			for _, value := range offers.ValuesOf(pool, j, key) {
				if !values[value] {
					values[value] = true
					poolTypes[offers.Offerings[j].PoolType] = true
				}
			}
		}
	}
	var kept []int
	most := mostTypes(offers)
	for _, j := range offerings {
		if t := offers.Offerings[j].PoolType; poolTypes[t] || len(poolTypes) < most {
			poolTypes[t] = true
			kept = append(kept, j)
		}
	}
	return kept
}
