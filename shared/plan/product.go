package plan

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

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
		r.zones.or(r.p.sets.listedBy(listed{key: corev1.LabelTopologyZone, value: column.offering.Zone}))
	}
	if !r.capacityTypes.has(j) {
		r.capacityTypes.or(r.p.sets.listedBy(listed{key: api.CapacityTypeLabelKey, value: column.offering.CapacityType}))
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

// listed is an entry of a claim's list of zones or capacity types.
type listed struct{ key, value string }

// listing are the columns that have an entry.
type listing struct {
	listed
	columns bitset
}

// listedBy are the columns, of whatever pool, that have the entry.
func (s *columnSets) listedBy(entry listed) bitset {
	if s.listings == nil {
		for j := range s.problem.columns {
			offering := s.problem.columns[j].offering
			s.list(listed{corev1.LabelTopologyZone, offering.Zone}, j)
			s.list(listed{api.CapacityTypeLabelKey, offering.CapacityType}, j)
		}
	}
	for i := range s.listings {
		if s.listings[i].listed == entry {
			return s.listings[i].columns
		}
	}
	return nil
}

// list notes a column with an entry. There are a handful of entries, and thousands of columns.
func (s *columnSets) list(entry listed, j int) {
	for i := range s.listings {
		if s.listings[i].listed == entry {
			s.listings[i].columns.add(j)
			return
		}
	}
	s.listings = append(s.listings, listing{entry, newBitset(len(s.problem.columns))})
	s.listings[len(s.listings)-1].columns.add(j)
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
