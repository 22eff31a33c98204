package planner

import (
	"iter"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
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

// standInSet are the columns of the node's pool that can hold all that is on the node. Exotic types stand in for exotic ones alone, and columns of reservations are
// left out where none is left. It is memory that the next call uses again.
func (p *problem) standInSet(n *node) bitset {
	pool := p.configOf(n.column).pool
	set := p.sets.standIns
	copy(set, pool.columns)
	var last *class
	for _, f := range n.fills {
		if c := p.demands[f.demand].class; c != last {
			set.and(c.columns)
			last = c
		}
	}
	if !p.isExotic(n.column) {
		set.without(p.exotic)
	}
	free := p.configOf(n.column).free
	for r := range free {
		if used := free[r] - n.free[r]; used > 0 {
			p.sizes[r].keep(set, used)
		}
	}
	if keys := p.sets.keysOf(pool).custom; len(keys) > 0 {
		asked := p.labelsOf(n)
		for _, key := range keys {
			if r, ok := asked[key]; ok {
				if value, ok := p.valueOn(n, r); ok {
					set.and(p.sets.allowing(scheduling.In(key, value)))
				}
			}
		}
	}
	return set
}

// valueOn is the value of a custom label that the node gets where it is asked for one: one that its column has, else any that is asked for. It is false where
// none need be, or none is found.
func (p *problem) valueOn(n *node, r scheduling.Requirement) (string, bool) {
	if r.AllowsAbsent() {
		return "", false
	}
	column := &p.columns[n.column]
	for _, own := range [...]scheduling.Requirements{column.offering.Requirements, p.configs[column.config].typ.Requirements} {
		if have, ok := own[r.Key()]; ok {
			r = r.Intersection(have)
		}
	}
	return anyValue(r)
}

// meetsMinValues reports whether the columns' types offer as many values of each key as the pool demands. It looks at no more columns than it takes.
func (p *problem) meetsMinValues(pool *pool, columns iter.Seq[int]) bool {
	if len(pool.minValues) == 0 {
		return true
	}
	missing := len(pool.minValues)
	values := map[string]map[string]bool{}
	for j := range columns {
		for key, least := range pool.minValues {
			if len(values[key]) >= least {
				continue
			}
			if values[key] == nil {
				values[key] = map[string]bool{}
			}
			for _, value := range p.valuesOf(pool, j, key) {
				values[key][value] = true
			}
			if len(values[key]) >= least {
				missing--
			}
		}
		if missing == 0 {
			return true
		}
	}
	return false
}

// valuesOf are the values that a node of the column's may have of a label.
func (p *problem) valuesOf(pool *pool, j int, key string) []string {
	switch column := p.columns[j]; key {
	case corev1.LabelTopologyZone:
		return p.sets.known(column.offering.Zone)
	case api.LabelTopologyZoneID:
		return p.sets.known(column.offering.ZoneID)
	case api.CapacityTypeLabelKey:
		return p.sets.known(column.offering.CapacityType)
	default:
		have, ok := column.offering.Requirements[key]
		if !ok {
			have, ok = p.configs[column.config].typ.Requirements[key]
		}
		if own, demanded := pool.requirements[key]; ok && demanded {
			have = have.Intersection(own)
		} else if demanded {
			have = own
		}
		values, listed := have.Values()
		if listed || !pool.isOpen(key) {
			return values
		}
		// The claim will decide on a value: see claim.go.
		value, _ := anyValue(have)
		return p.sets.known(value)
	}
}

// known is the value as a list, empty where the value is not known.
func (s *columnSets) known(value string) []string {
	if value == "" {
		return nil
	}
	list, ok := s.lists[value]
	if !ok {
		list = []string{value}
		s.lists[value] = list
	}
	return list
}

// choose picks from a node's stand-ins, which are all that fits, those that its claim keeps, cheapest first: all of one capacity type, and no exotic types, if there
// are others. slack is what the pool's limits leave beyond the node's own use; types that would take more are left out.
func (p *problem) choose(n *node, fits bitset, slack []int64) []int {
	own := p.configOf(n.column)
	at := p.columns[n.column].reservation
	columns := func(yield func(int) bool) {
		for j := range fits.all() {
			if p.columns[j].reservation == at && withinSlack(p.configOf(j).use, own.use, slack) && !yield(j) {
				return
			}
		}
	}
	if len(own.pool.minValues) == 0 {
		return p.closedWithin(n, p.cut(columns, fits), fits)
	}
	kept := p.closedWithin(n, p.cutKeeping(own.pool, slices.Collect(columns)), fits)
	if p.strict(own.pool) && !p.meetsMinValues(own.pool, slices.Values(kept)) {
		// The cheapest do not go together, or limits leave too little for them.
		if needed, _ := p.needed(n); needed != nil {
			kept = needed
		}
	}
	return kept
}

// closed drops those of the columns that would let in, by the lists of types, zones and capacity types that a claim's requirements are, another column which cannot
// hold what is on the node: a type is allowed in one zone and another type in another, and each in the other's.
func (p *problem) closed(n *node, columns []int) []int {
	return p.closedWithin(n, columns, p.standInSet(n).clone())
}

// closedWithin is closed for the columns that can hold what is on the node.
func (p *problem) closedWithin(n *node, columns []int, fits bitset) []int {
	pool := p.configOf(n.column).pool
	union := newProduct(p, pool)
	for _, j := range columns {
		union.add(j)
	}
	if union.within(fits) {
		return columns
	}
	// What the claim's other requirements leave out is not let in: a type of the same name with another operating system, say.
	if allowed, _ := p.sets.meeting(pool, p.labelsOf(n)); allowed != nil {
		fits = fits.clone()
		for w := range fits {
			fits[w] |= ^allowed[w]
		}
	}
	union = newProduct(p, pool)
	kept := columns[:0:0]
	for _, j := range columns {
		with := union.clone()
		if with.add(j); with.within(fits) {
			union = with
			kept = append(kept, j)
		}
	}
	if len(kept) == 0 {
		return columns[:1]
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
func (p *problem) cut(columns iter.Seq[int], fits bitset) []int {
	var first *catalog.Offering
	configs, types := newBitset(len(p.configs)), 0
	kept := p.sets.kept[:0]
	full := false
	for j := range columns {
		column := &p.columns[j]
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
			kept = p.appendFurther(kept, configs, fits, j)
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
	p.sets.kept = kept
	return slices.Clone(kept)
}

// appendFurther appends, up to maximumOfferings, the columns from first on that buy one of the configs as the first one kept does.
func (p *problem) appendFurther(kept []int, configs, fits bitset, first int) []int {
	like := &p.columns[kept[0]]
	before := len(kept)
	for i := range configs.all() {
		for _, j := range p.configs[i].columns {
			if column := &p.columns[j]; j >= first && fits.has(j) && column.reservation == like.reservation && column.offering.CapacityType == like.offering.CapacityType {
				kept = append(kept, j)
			}
		}
	}
	slices.Sort(kept[before:])
	return kept[:min(len(kept), max(before, maximumOfferings))]
}

// cutKeeping cuts as cut does, except that types are kept, however dear, until the pool's minValues are met. Where minValues speak of the capacity
// type, both stay.
func (p *problem) cutKeeping(pool *pool, columns []int) []int {
	if _, mixed := pool.minValues[api.CapacityTypeLabelKey]; !mixed {
		first := p.columns[columns[0]].offering.CapacityType
		ofFirst := slices.DeleteFunc(slices.Clone(columns), func(j int) bool { return p.columns[j].offering.CapacityType != first })
		if p.meetsMinValues(pool, slices.Values(ofFirst)) {
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
			for _, value := range p.valuesOf(pool, j, key) {
				if !values[value] {
					values[value] = true
					types[p.columns[j].config] = true
				}
			}
		}
	}
	var result []int
	for _, j := range columns {
		if c := p.columns[j].config; types[c] || len(types) < maximumTypes {
			types[c] = true
			result = append(result, j)
		}
	}
	return result
}

// labelsOf are what the node's labels will be as far as the plan decides them.
func (p *problem) labelsOf(n *node) scheduling.Requirements {
	pool := p.configs[p.columns[n.column].config].pool
	requirements := pool.requirements.Clone()
	for key, r := range n.open.labels() {
		// Absence needs no word where nothing sets the label.
		if _, known := requirements[key]; known || !r.AllowsAbsent() {
			requirements.Add(r)
		}
	}
	for _, f := range n.fills {
		// What a demand with several alternatives asks for is in the list of types and zones.
		if alternatives := p.demands[f.demand].alternatives; len(alternatives) == 1 {
			for key, r := range alternatives[0] {
				if _, known := requirements[key]; known || !r.AllowsAbsent() {
					requirements.Add(r)
				}
			}
		}
	}
	return requirements
}
