package topology

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/workload"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Domain is a value of a topology key that a part can use.
type Domain struct {
	Value string
	// room is how many units fit on the existing nodes there.
	room int64
	// price is that of the cheapest new node there in US dollars an hour; infinite without one.
	price float64
	// invented says that nothing names the value: a new node gets it because it needs some value.
	invented bool
}

// cheapestFor is the value of the domain where new nodes for the units without room on existing ones
// cost least, by the cheapest new node there. The first of several wins.
func cheapestFor(domains []Domain, units int) string {
	best, least := 0, math.Inf(1)
	for i := range domains {
		cost := 0.0
		if further := int64(units) - domains[i].room; further > 0 {
			cost = float64(further) * domains[i].price
		}
		if cost < least {
			best, least = i, cost
		}
	}
	return domains[best].Value
}

// domainSet collects domains by value. Most keys have a few domains, which are found by going
// through the list; an index serves the others.
type domainSet struct {
	list  []Domain
	index map[string]int
}

// unindexedDomains is how many domains a set goes through before it makes an index.
const unindexedDomains = 16

// find is the position of the value's domain; -1 without one.
func (s *domainSet) find(value string) int {
	if s.index != nil {
		if i, ok := s.index[value]; ok {
			return i
		}
		return -1
	}
	return slices.IndexFunc(s.list, func(d Domain) bool { return d.Value == value })
}

// at is the value's domain, which is added if need be. It is valid until the next call.
func (s *domainSet) at(value string) *Domain {
	if i := s.find(value); i >= 0 {
		return &s.list[i]
	}
	s.list = append(s.list, Domain{Value: value, price: math.Inf(1)})
	last := len(s.list) - 1
	switch {
	case s.index != nil:
		s.index[value] = last
	case len(s.list) > unindexedDomains:
		s.index = make(map[string]int, 2*len(s.list))
		for i := range s.list {
			s.index[s.list[i].Value] = i
		}
	}
	return &s.list[last]
}

// Domains returns the domains of the key that can take a unit of the part. Those whose nodes have
// most room come first, then those with the cheapest new node.
func (t *Topology) Domains(g *workload.Group, part Part, key string) []Domain {
	set := &domainSet{list: make([]Domain, 0, 4)}
	t.addExistingDomains(set, g, part, key)
	t.addOfferedDomains(set, g, part, key)
	t.addListedDomains(set, g, part, key)
	slices.SortFunc(set.list, func(a, b Domain) int {
		return cmp.Or(-cmp.Compare(a.room, b.room), cmp.Compare(a.price, b.price), strings.Compare(a.Value, b.Value))
	})
	return set.list
}

// addExistingDomains adds the domains of existing nodes with room.
func (t *Topology) addExistingDomains(set *domainSet, g *workload.Group, part Part, key string) {
	enough := int64(len(part.Units))
	for _, in := range t.nodesByDomain(key) {
		var alternatives *workload.Alternatives
		for _, e := range in.nodes {
			n := e.Free.Room(g.Need, enough)
			if e.Nominated != nil {
				// An earlier plan meant the rest of its room for other pods.
				n = min(n, int64(e.Nominated[g.First]))
			}
			if n == 0 {
				continue
			}
			if alternatives == nil {
				alternatives = t.offers.Feasibilities.Narrow(part.Alternatives, t.offers.Feasibilities.In(key, in.value))
				if alternatives == nil {
					break
				}
			}
			if !t.state.Accepts(e, g, alternatives) {
				continue
			}
			domain := set.at(in.value)
			if domain.room += n; domain.room >= enough {
				break
			}
		}
	}
}

// addOfferedDomains adds the domains of new nodes. Offerings are numbered by price, so the first one
// in a domain is its cheapest.
func (t *Topology) addOfferedDomains(set *domainSet, g *workload.Group, part Part, key string) {
	feasible, _ := t.offers.OfferingsFor(g, part.Alternatives, g.Need)
	for _, d := range t.offers.Feasibilities.Domains(key) {
		first := d.Offerings.FirstOf(feasible)
		if first < 0 {
			continue
		}
		narrowed := t.offers.Feasibilities.Narrow(part.Alternatives, t.offers.Feasibilities.In(key, d.Value))
		if narrowed == nil {
			continue
		}
		if part.Alternatives.Len() > 1 {
			if offerings, _ := t.offers.OfferingsFor(g, narrowed, g.Need); offerings.Empty() {
				continue
			}
		}
		domain := set.at(d.Value)
		domain.invented = !d.Listed && domain.room == 0
		domain.price = t.offers.Offerings[first].Price
	}
}

// addListedDomains adds the values of a custom label that the part itself lists, where new nodes get
// the value that their pods ask for.
func (t *Topology) addListedDomains(set *domainSet, g *workload.Group, part Part, key string) {
	if scheduling.IsWellKnown(key) || offering.IsOfferingKey(key) {
		return
	}
	for _, alternative := range part.Alternatives.List() {
		listed, ok := alternative[key]
		values, isList := listed.Values()
		if !ok || !isList {
			continue
		}
		for _, value := range values {
			offerings, _ := t.offers.OfferingsFor(g, part.Alternatives.Narrow(scheduling.In(key, value)), g.Need)
			first := offerings.First()
			if known := set.find(value); first < 0 || known >= 0 && !set.list[known].invented {
				continue
			}
			domain := set.at(value)
			domain.price, domain.invented = t.offers.Offerings[first].Price, false
		}
	}
}

// domainNodes are the existing nodes of a domain.
type domainNodes struct {
	value string
	nodes []*placement.ExistingNode
}

// nodesByDomain returns the existing nodes by their domain of the key. Nodes without the label are
// left out.
func (t *Topology) nodesByDomain(key string) []domainNodes {
	if known, ok := t.memo.nodes[key]; ok {
		return known
	}
	byValue := map[string][]*placement.ExistingNode{}
	for _, e := range t.state.Existing {
		if value, ok := e.Domain(key); ok {
			byValue[value] = append(byValue[value], e)
		}
	}
	result := make([]domainNodes, 0, len(byValue))
	for _, value := range dense.SortedKeys(byValue) {
		result = append(result, domainNodes{value, byValue[value]})
	}
	t.memo.nodes[key] = result
	return result
}

// NewDomains returns parts bound to domains that no node has yet, of labels whose value a pool
// leaves open.
func (t *Topology) NewDomains(part Part, key string) []Part {
	var result []Part
	for _, pool := range t.offers.Pools {
		open, ok := pool.Requirements[key]
		if !ok || !pool.IsOpen(key) {
			continue
		}
		for _, alternative := range part.Alternatives.List() {
			allowed := open
			if r, ok := alternative[key]; ok {
				allowed = allowed.Intersection(r)
			}
			if _, isList := allowed.Values(); isList {
				continue
			}
			if value, ok := offering.AnyValue(allowed); ok {
				result = append(result, part.Narrow(scheduling.In(key, value)))
			}
		}
	}
	return result
}

// WithPlanned adds the domains of planned nodes whose pods have resolved a label that the pool
// leaves open.
func (t *Topology) WithPlanned(domains []Domain, part Part, key string) []Domain {
	for _, value := range t.state.PlannedValues(key) {
		known := slices.ContainsFunc(domains, func(d Domain) bool { return d.Value == value })
		if !known && part.Alternatives.Narrow(scheduling.In(key, value)) != nil {
			domains = append(domains, Domain{Value: value, price: math.Inf(1)})
		}
	}
	return domains
}
