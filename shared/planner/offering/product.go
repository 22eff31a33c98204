package offering

import "github.com/whittle-dev/whittle/shared/planner/dense"

// Product are the offerings of a pool that lists of types, zones and capacity types allow together.
type Product struct {
	index                       *Index
	pool                        *Pool
	types, zones, capacityTypes dense.Set
}

func NewProduct(p *Index, pool *Pool) *Product {
	n := (len(p.Offerings) + 63) / 64
	memory := make(dense.Set, 3*n)
	return &Product{index: p, pool: pool, types: memory[:n:n], zones: memory[n : 2*n : 2*n], capacityTypes: memory[2*n:]}
}

func (p *Product) Clone() *Product {
	c := *p
	c.types, c.zones, c.capacityTypes = p.types.Clone(), p.zones.Clone(), p.capacityTypes.Clone()
	return &c
}

// Add adds the offering's type, zone and capacity type.
func (p *Product) Add(j int) {
	column := &p.index.Offerings[j]
	if !p.types.Has(j) {
		p.addType(int(column.PoolType))
	}
	if !p.zones.Has(j) {
		p.zones.Or(p.index.Feasibilities.zoned(column.zone))
	}
	if !p.capacityTypes.Has(j) {
		p.capacityTypes.Or(p.index.Feasibilities.bought(column.capacityType))
	}
}

// addType adds the offerings of the pool's types that have the same name as the pool type's.
func (p *Product) addType(config int) {
	configs := p.index.PoolTypes
	first := config
	for first > 0 && configs[first-1].NameID == configs[config].NameID {
		first--
	}
	for i := first; i < len(configs) && configs[i].NameID == configs[config].NameID; i++ {
		for _, j := range configs[i].Offerings {
			p.types.Add(j)
		}
	}
}

// zoned are the offerings, of whatever pool, in the zone, which is a position in zones.
func (s *Feasibilities) zoned(zone int16) dense.Set {
	if s.zones == nil {
		s.zones = s.by(len(s.index.zones), func(c *Offering) int16 { return c.zone })
	}
	return s.zones[zone]
}

// bought are the offerings, of whatever pool, of the capacity type, which is a position in
// capacityTypes.
func (s *Feasibilities) bought(capacityType int16) dense.Set {
	if s.capacityTypes == nil {
		s.capacityTypes = s.by(len(s.index.capacityTypes), func(c *Offering) int16 { return c.capacityType })
	}
	return s.capacityTypes[capacityType]
}

// by are the offerings of each of so many numbers.
func (s *Feasibilities) by(count int, numberOf func(*Offering) int16) []dense.Set {
	sets := make([]dense.Set, count)
	for i := range sets {
		sets[i] = dense.NewSet(len(s.index.Offerings))
	}
	for j := range s.index.Offerings {
		sets[numberOf(&s.index.Offerings[j])].Add(j)
	}
	return sets
}

// Within reports whether all offerings that the lists allow are in the set.
func (p *Product) Within(set dense.Set) bool {
	for w := range set {
		if p.types[w]&p.zones[w]&p.capacityTypes[w]&p.pool.Offerings[w]&^set[w] != 0 {
			return false
		}
	}
	return true
}
