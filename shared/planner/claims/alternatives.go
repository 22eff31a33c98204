package claims

import (
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
	// MaximumTypes is how many instance types a claim keeps: what one CreateFleet request of this size
	// takes, as in Karpenter.
	MaximumTypes = 60
	// spotPriceFactor is how much dearer than the cheapest the types beyond plan.MinimumSpotTypes may
	// be: EC2 chooses spot by capacity first, and a claim that allows anything could cost anything.
	spotPriceFactor = 1.5
	// maximumOfferings ends the search for further zones of the types kept: 60 types in up to six
	// zones.
	maximumOfferings = 6 * MaximumTypes
)

// keepAlternatives picks from a node's alternatives, which are all that fits, those that its claim
// keeps, cheapest first: all of one capacity type, and no exotic types, if there are others. slack
// is what the pool's limits leave beyond the node's own use; types that would take more are left
// out.
func keepAlternatives(p *placement.State, n *placement.PlannedNode, fits dense.Set, slack []int64) []int {
	own := p.Offers.PoolTypeOf(n.Offering)
	at := p.Offers.Offerings[n.Offering].Reservation
	columns := func(yield func(int) bool) {
		for j := range fits.All() {
			if p.Offers.Offerings[j].Reservation == at && withinSlack(p.Offers.PoolTypeOf(j).LimitUse, own.LimitUse, slack) &&
				!yield(j) {
				return
			}
		}
	}
	if len(own.Pool.MinValues) == 0 {
		return p.ExpressibleWithin(n, cut(p, columns, fits), fits)
	}
	kept := p.ExpressibleWithin(n, cutKeeping(p, own.Pool, slices.Collect(columns)), fits)
	if p.Offers.StrictMinValues(own.Pool) && !p.Offers.MeetsMinValues(own.Pool, slices.Values(kept)) {
		// The cheapest do not go together, or limits leave too little for them.
		if needed, _ := p.NeededForMinValues(n); needed != nil {
			kept = needed
		}
	}
	return kept
}

func withinSlack(use, own, slack []int64) bool {
	for i := range use {
		if use[i]-own[i] > slack[i] {
			return false
		}
	}
	return true
}

// cut keeps the offerings of the cheapest one's capacity type, of as many types as a launch takes.
// Spot that costs more than on-demand is dropped. The offerings are all of fits, as far as limits
// and reservations allow their types.
func cut(p *placement.State, columns iter.Seq[int], fits dense.Set) []int {
	var first *catalog.Offering
	configs, types := dense.NewSet(len(p.Offers.PoolTypes)), 0
	kept := p.Offers.Feasibilities.ScratchList[:0]
	full := false
	for j := range columns {
		column := &p.Offers.Offerings[j]
		if first == nil {
			first = column.Source
		}
		spot := first.CapacityType == api.CapacityTypeSpot
		if column.Source.CapacityType != first.CapacityType {
			if spot {
				break // all further spot costs at least what this on-demand offering does
			}
			continue
		}
		full = full || types == MaximumTypes ||
			spot && types >= plan.MinimumSpotTypes && column.Source.Price > spotPriceFactor*first.Price
		if full && !spot {
			kept = appendFurther(p, kept, configs, fits, j)
			break
		}
		if full && len(kept) >= maximumOfferings {
			break
		}
		if !configs.Has(int(column.PoolType)) {
			if full {
				continue
			}
			configs.Add(int(column.PoolType))
			types++
		}
		kept = append(kept, j)
	}
	p.Offers.Feasibilities.ScratchList = kept
	return slices.Clone(kept)
}

// appendFurther appends, up to maximumOfferings, the offerings from first on that buy one of the
// pool types as the first one kept does.
func appendFurther(p *placement.State, kept []int, configs, fits dense.Set, first int) []int {
	like := &p.Offers.Offerings[kept[0]]
	before := len(kept)
	for i := range configs.All() {
		for _, j := range p.Offers.PoolTypes[i].Offerings {
			if column := &p.Offers.Offerings[j]; j >= first && fits.Has(j) && column.Reservation == like.Reservation &&
				column.Source.CapacityType == like.Source.CapacityType {
				kept = append(kept, j)
			}
		}
	}
	slices.Sort(kept[before:])
	return kept[:min(len(kept), max(before, maximumOfferings))]
}

// cutKeeping cuts as cut does, except that types are kept, however dear, until the pool's minValues
// are met. Where minValues speak of the capacity type, both stay.
func cutKeeping(p *placement.State, pool *offering.Pool, columns []int) []int {
	if _, mixed := pool.MinValues[api.CapacityTypeLabelKey]; !mixed {
		first := p.Offers.Offerings[columns[0]].Source.CapacityType
		ofFirst := slices.DeleteFunc(
			slices.Clone(columns),
			func(j int) bool { return p.Offers.Offerings[j].Source.CapacityType != first },
		)
		if p.Offers.MeetsMinValues(pool, slices.Values(ofFirst)) {
			columns = ofFirst
		}
	}
	// The types that bring a value which is still wanted come first, then the cheapest.
	types := map[int32]bool{}
	for _, key := range dense.SortedKeys(pool.MinValues) {
		values := map[string]bool{}
		for _, j := range columns {
			if len(values) >= pool.MinValues[key] {
				break
			}
			for _, value := range p.Offers.ValuesOf(pool, j, key) {
				if !values[value] {
					values[value] = true
					types[p.Offers.Offerings[j].PoolType] = true
				}
			}
		}
	}
	var result []int
	for _, j := range columns {
		if c := p.Offers.Offerings[j].PoolType; types[c] || len(types) < MaximumTypes {
			types[c] = true
			result = append(result, j)
		}
	}
	return result
}
