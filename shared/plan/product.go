package plan

import "github.com/whittle-dev/whittle/shared/catalog"

// product are the columns of a pool that lists of types, zones and capacity types allow together.
type product struct {
	p                           *problem
	pool                        *pool
	types, zones, capacityTypes bitset
}

func newProduct(p *problem, pool *pool) *product {
	n := (len(p.columns) + 63) / 64
	memory := make(bitset, 3*n)
	return &product{p: p, pool: pool, types: memory[:n:n], zones: memory[n : 2*n : 2*n], capacityTypes: memory[2*n:]}
}

func (r *product) clone() *product {
	c := *r
	c.types, c.zones, c.capacityTypes = r.types.clone(), r.zones.clone(), r.capacityTypes.clone()
	return &c
}

// add adds the column's type, zone and capacity type.
func (r *product) add(j int) {
	column := &r.p.columns[j]
	if !r.types.has(j) {
		r.addType(column.config)
	}
	if !r.zones.has(j) {
		r.zones.or(r.p.sets.zoned(column.offering.Zone))
	}
	if !r.capacityTypes.has(j) {
		r.capacityTypes.or(r.p.sets.bought(column.offering.CapacityType))
	}
}

// addType adds the columns of the pool's types that have the same name as the config's.
func (r *product) addType(config int) {
	configs := r.p.configs
	first := config
	for first > 0 && configs[first-1].name == configs[config].name {
		first--
	}
	for i := first; i < len(configs) && configs[i].name == configs[config].name; i++ {
		for _, j := range configs[i].columns {
			r.types.add(j)
		}
	}
}

// listing are the columns that an entry of a claim's list of zones, or of capacity types, names.
type listing struct {
	value   string
	columns bitset
}

// zoned are the columns, of whatever pool, in the zone.
func (s *columnSets) zoned(zone string) bitset {
	if s.zones == nil {
		s.zones = s.listings(func(offering *catalog.Offering) string { return offering.Zone })
	}
	return columnsOf(s.zones, zone)
}

// bought are the columns, of whatever pool, of the capacity type.
func (s *columnSets) bought(capacityType string) bitset {
	if s.capacityTypes == nil {
		s.capacityTypes = s.listings(func(offering *catalog.Offering) string { return offering.CapacityType })
	}
	return columnsOf(s.capacityTypes, capacityType)
}

// listings are the columns by a value of their offerings, of which there are a handful, and thousands of columns.
func (s *columnSets) listings(valueOf func(*catalog.Offering) string) []listing {
	var all []listing
	for j := range s.problem.columns {
		value := valueOf(s.problem.columns[j].offering)
		at := 0
		for at < len(all) && all[at].value != value {
			at++
		}
		if at == len(all) {
			all = append(all, listing{value, newBitset(len(s.problem.columns))})
		}
		all[at].columns.add(j)
	}
	return all
}

func columnsOf(all []listing, value string) bitset {
	for i := range all {
		if all[i].value == value {
			return all[i].columns
		}
	}
	return nil
}

// within reports whether all columns that the lists allow are in the set.
func (r *product) within(set bitset) bool {
	for w := range set {
		if r.types[w]&r.zones[w]&r.capacityTypes[w]&r.pool.columns[w]&^set[w] != 0 {
			return false
		}
	}
	return true
}
