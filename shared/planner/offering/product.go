package offering

import "github.com/whittle-dev/whittle/shared/planner/dense"

// Product are the offerings of a pool that lists of instance types, zones and capacity types allow
// together. A NodeClaim can only name such lists, and not single offerings. So it also allows the
// offerings that combine one entry's instance type with another entry's zone.
type Product struct {
	index                       *Index
	pool                        *Pool
	types, zones, capacityTypes dense.Set
	unfit                       []unfitOffering
}

// NewProduct is a product of empty lists.
func NewProduct(ix *Index, pool *Pool) *Product {
	n := (len(ix.Offerings) + 63) / 64
	memory := make(dense.Set, 3*n)
	return &Product{
		index: ix, pool: pool, unfit: pool.unfit,
		types: memory[:n:n], zones: memory[n : 2*n : 2*n], capacityTypes: memory[2*n:],
	}
}

// Clone is a copy that shares no memory with the product.
func (p *Product) Clone() *Product {
	c := *p
	c.types, c.zones, c.capacityTypes = p.types.Clone(), p.zones.Clone(), p.capacityTypes.Clone()
	return &c
}

// Add adds the instance type, zone and capacity type of offering j to the lists.
func (p *Product) Add(j int) {
	o := &p.index.Offerings[j]
	if !p.types.Has(j) {
		p.addType(int(o.PoolType))
	}
	if !p.zones.Has(j) {
		p.zones.Or(p.index.Feasibilities.inZone(o.zone))
	}
	if !p.capacityTypes.Has(j) {
		p.capacityTypes.Or(p.index.Feasibilities.ofCapacityType(o.capacityType))
	}
}

// addType adds the offerings of all pool types whose instance type has the same name.
func (p *Product) addType(poolType int) {
	all := p.index.PoolTypes
	first := poolType
	for first > 0 && all[first-1].NameID == all[poolType].NameID {
		first--
	}
	for i := first; i < len(all) && all[i].NameID == all[poolType].NameID; i++ {
		for _, j := range all[i].Offerings {
			p.types.Add(j)
		}
	}
}

// Within reports whether the set has all offerings that the lists allow, and all of these have room
// for their DaemonSets.
func (p *Product) Within(set dense.Set) bool {
	for w := range set {
		if p.types[w]&p.zones[w]&p.capacityTypes[w]&p.pool.Offerings[w]&^set[w] != 0 {
			return false
		}
	}
	return !p.allowsUnfit()
}

// KeepAllowed removes the offerings from the set that the lists do not allow.
func (p *Product) KeepAllowed(set dense.Set) {
	for w := range set {
		set[w] &= p.types[w] & p.zones[w] & p.capacityTypes[w] & p.pool.Offerings[w]
	}
}

// attributeSets has the offerings of each zone and of each capacity type, of all pools. They are in
// the order of market.zones and market.capacityTypes, and nil until a product needs them.
type attributeSets struct {
	zones, capacityTypes []dense.Set
}

// inZone are the offerings in a zone, by its position in market.zones.
func (s *Feasibilities) inZone(zone int16) dense.Set {
	if s.attributes.zones == nil {
		s.attributes.zones = s.setsBy(len(s.index.zones), func(o *Offering) int16 { return o.zone })
	}
	return s.attributes.zones[zone]
}

// ofCapacityType are the offerings of a capacity type, by its position in market.capacityTypes.
func (s *Feasibilities) ofCapacityType(capacityType int16) dense.Set {
	if s.attributes.capacityTypes == nil {
		count := len(s.index.capacityTypes)
		s.attributes.capacityTypes = s.setsBy(count, func(o *Offering) int16 { return o.capacityType })
	}
	return s.attributes.capacityTypes[capacityType]
}

// setsBy are the offerings of each number below count.
func (s *Feasibilities) setsBy(count int, numberOf func(*Offering) int16) []dense.Set {
	sets := make([]dense.Set, count)
	for i := range sets {
		sets[i] = dense.NewSet(len(s.index.Offerings))
	}
	for j := range s.index.Offerings {
		sets[numberOf(&s.index.Offerings[j])].Add(j)
	}
	return sets
}
