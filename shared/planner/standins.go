package planner

import (
	"iter"
	"slices"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
)

const (
	// maximumTypes is how many instance types a claim keeps: what one CreateFleet request of this size takes, as in Karpenter.
	maximumTypes = 60
	// spotPriceFactor is how much dearer than the cheapest the types beyond plan.MinimumSpotTypes may be: EC2 chooses spot by capacity first, and a claim
	// that allows anything could cost anything.
	spotPriceFactor = 1.5
	// maximumOfferings ends the search for further zones of the types kept: 60 types in up to six zones.
	maximumOfferings = 6 * maximumTypes
)

// choose picks from a node's stand-ins, which are all that fits, those that its claim keeps, cheapest first: all of one capacity type, and no exotic types, if there
// are others. slack is what the pool's limits leave beyond the node's own use; types that would take more are left out.
func choose(p *placements, n *node, fits bitset, slack []int64) []int {
	own := p.offers.configOf(n.column)
	at := p.offers.columns[n.column].reservation
	columns := func(yield func(int) bool) {
		for j := range fits.all() {
			if p.offers.columns[j].reservation == at && withinSlack(p.offers.configOf(j).use, own.use, slack) && !yield(j) {
				return
			}
		}
	}
	if len(own.pool.minValues) == 0 {
		return p.closedWithin(n, cut(p, columns, fits), fits)
	}
	kept := p.closedWithin(n, cutKeeping(p, own.pool, slices.Collect(columns)), fits)
	if p.offers.strict(own.pool) && !p.offers.meetsMinValues(own.pool, slices.Values(kept)) {
		// The cheapest do not go together, or limits leave too little for them.
		if needed, _ := p.needed(n); needed != nil {
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

// cut keeps the columns of the cheapest one's capacity type, of as many types as a launch takes. Spot that costs more than on-demand is dropped. The columns are all of
// fits, as far as limits and reservations allow their types.
func cut(p *placements, columns iter.Seq[int], fits bitset) []int {
	var first *catalog.Offering
	configs, types := newBitset(len(p.offers.configs)), 0
	kept := p.offers.sets.kept[:0]
	full := false
	for j := range columns {
		column := &p.offers.columns[j]
		if first == nil {
			first = column.offering
		}
		spot := first.CapacityType == api.CapacityTypeSpot
		if column.offering.CapacityType != first.CapacityType {
			if spot {
				break // all further spot costs at least what this on-demand offering does
			}
			continue
		}
		full = full || types == maximumTypes || spot && types >= plan.MinimumSpotTypes && column.offering.Price > spotPriceFactor*first.Price
		if full && !spot {
			kept = appendFurther(p, kept, configs, fits, j)
			break
		}
		if full && len(kept) >= maximumOfferings {
			break
		}
		if !configs.has(int(column.config)) {
			if full {
				continue
			}
			configs.add(int(column.config))
			types++
		}
		kept = append(kept, j)
	}
	p.offers.sets.kept = kept
	return slices.Clone(kept)
}

// appendFurther appends, up to maximumOfferings, the columns from first on that buy one of the configs as the first one kept does.
func appendFurther(p *placements, kept []int, configs, fits bitset, first int) []int {
	like := &p.offers.columns[kept[0]]
	before := len(kept)
	for i := range configs.all() {
		for _, j := range p.offers.configs[i].columns {
			if column := &p.offers.columns[j]; j >= first && fits.has(j) && column.reservation == like.reservation && column.offering.CapacityType == like.offering.CapacityType {
				kept = append(kept, j)
			}
		}
	}
	slices.Sort(kept[before:])
	return kept[:min(len(kept), max(before, maximumOfferings))]
}

// cutKeeping cuts as cut does, except that types are kept, however dear, until the pool's minValues are met. Where minValues speak of the capacity
// type, both stay.
func cutKeeping(p *placements, pool *pool, columns []int) []int {
	if _, mixed := pool.minValues[api.CapacityTypeLabelKey]; !mixed {
		first := p.offers.columns[columns[0]].offering.CapacityType
		ofFirst := slices.DeleteFunc(slices.Clone(columns), func(j int) bool { return p.offers.columns[j].offering.CapacityType != first })
		if p.offers.meetsMinValues(pool, slices.Values(ofFirst)) {
			columns = ofFirst
		}
	}
	// The types that bring a value which is still wanted come first, then the cheapest.
	types := map[int32]bool{}
	for _, key := range sortedKeys(pool.minValues) {
		values := map[string]bool{}
		for _, j := range columns {
			if len(values) >= pool.minValues[key] {
				break
			}
			for _, value := range p.offers.valuesOf(pool, j, key) {
				if !values[value] {
					values[value] = true
					types[p.offers.columns[j].config] = true
				}
			}
		}
	}
	var result []int
	for _, j := range columns {
		if c := p.offers.columns[j].config; types[c] || len(types) < maximumTypes {
			types[c] = true
			result = append(result, j)
		}
	}
	return result
}
