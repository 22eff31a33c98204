package plan

import (
	"fmt"
	"maps"
	"slices"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// spread divides a part over the domains of a spread constraint: each unit goes to the domain that has fewest so far, as long as that keeps the skew.
func (d *divider) spread(s *shape, whole part, term *spreadTerm) []part {
	domains := d.domains(s, whole, term.key)
	if len(domains) == 0 {
		return d.nowhere(s, whole, term.field, term.key)
	}
	count := d.count(&term.peers, term.key)
	others := d.fixedDomains(s, term, domains)
	self := 0
	if term.match(s.pod()) {
		self = 1
	}
	// least is the lowest count of all domains, which the skew is measured from; with fewer domains than minDomains it is zero.
	least := func() int {
		if len(domains)+len(others) < term.minDomains {
			return 0
		}
		lowest := count[domains[0].value]
		for _, domain := range domains {
			lowest = min(lowest, count[domain.value])
		}
		for _, value := range others {
			lowest = min(lowest, count[value])
		}
		return lowest
	}
	if self == 0 {
		// The pods do not change what they are spread by: any domain that is not too full already will do.
		var allowed []string
		for _, domain := range domains {
			if count[domain.value]-least() <= term.maxSkew {
				allowed = append(allowed, domain.value)
			}
		}
		if whole.alternatives = narrow(whole.alternatives, scheduling.In(term.key, allowed...)); len(whole.alternatives) == 0 {
			d.p.leave(s, flatten(whole.units), fmt.Sprintf("%s allows it in no %q that can get a node: each has too many of %s already", term.field, term.key, term.selector))
			return nil
		}
		return []part{whole}
	}
	parts := map[string]*part{}
	for i, unit := range whole.units {
		best := -1
		for j := range domains {
			if best < 0 || count[domains[j].value] < count[domains[best].value] ||
				// Of equally full domains one whose nodes have room left comes before one that needs a new node.
				count[domains[j].value] == count[domains[best].value] && domains[j].room > 0 && domains[best].room <= 0 {
				best = j
			}
		}
		value := domains[best].value
		if count[value]+len(unit)-least() > term.maxSkew {
			d.p.leave(s, flatten(whole.units[i:]), fmt.Sprintf("%s allows no more of its pods in any %q that can get a node (%s)", term.field, term.key, value))
			break
		}
		if parts[value] == nil {
			parts[value] = &part{alternatives: narrow(whole.alternatives, scheduling.In(term.key, value))}
		}
		parts[value].units = append(parts[value].units, unit)
		count[value] += len(unit)
		domains[best].room--
	}
	var result []part
	for _, value := range slices.Sorted(maps.Keys(parts)) {
		result = append(result, *parts[value])
	}
	return result
}

// fixedDomains are the domains that count for the skew and can take nothing: those of existing nodes that the pod might use by its node affinity
// (and its tolerations, if the constraint says so) but that have no room and get no new node.
func (d *divider) fixedDomains(s *shape, term *spreadTerm, domains []domain) []string {
	values := map[string]bool{}
	for _, e := range d.p.existing {
		value, ok := e.domain(term.key)
		if !ok || e.node.Node == nil || slices.ContainsFunc(domains, func(d domain) bool { return d.value == value }) {
			continue
		}
		if !term.ignoreAffinity && !slices.ContainsFunc(s.alternatives, e.mayMeet) {
			continue
		}
		if term.honorTaints && !scheduling.ToleratesAll(e.taints, s.tolerations) {
			continue
		}
		values[value] = true
	}
	return slices.Sorted(maps.Keys(values))
}
