package planner

// product are the columns of a pool that lists of types, zones and capacity types allow together.
type product struct {
	p                           *offerings
	pool                        *pool
	types, zones, capacityTypes bitset
}

func newProduct(p *offerings, pool *pool) *product {
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
		r.addType(int(column.config))
	}
	if !r.zones.has(j) {
		r.zones.or(r.p.sets.zoned(column.zone))
	}
	if !r.capacityTypes.has(j) {
		r.capacityTypes.or(r.p.sets.bought(column.capacityType))
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

// zoned are the columns, of whatever pool, in the zone, which is a position in problem.zones.
func (s *columnSets) zoned(zone int16) bitset {
	if s.zones == nil {
		s.zones = s.by(len(s.problem.zones), func(c *column) int16 { return c.zone })
	}
	return s.zones[zone]
}

// bought are the columns, of whatever pool, of the capacity type, which is a position in problem.capacityTypes.
func (s *columnSets) bought(capacityType int16) bitset {
	if s.capacityTypes == nil {
		s.capacityTypes = s.by(len(s.problem.capacityTypes), func(c *column) int16 { return c.capacityType })
	}
	return s.capacityTypes[capacityType]
}

// by are the columns of each of so many numbers.
func (s *columnSets) by(count int, numberOf func(*column) int16) []bitset {
	sets := make([]bitset, count)
	for i := range sets {
		sets[i] = newBitset(len(s.problem.columns))
	}
	for j := range s.problem.columns {
		sets[numberOf(&s.problem.columns[j])].add(j)
	}
	return sets
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
