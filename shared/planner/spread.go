package planner

import (
	"fmt"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// skew measures the counts of a spread's domains.
type skew struct {
	term   *spreadTerm
	counts map[string]int
	// domains are those that the pod can use, others those that count beside them.
	domains []domain
	others  []string
	// fixed is how many of the others do not depend on the plan.
	fixed int
}

// skewOf measures a spread for a part of the shape's pods.
func (p *topology) skewOf(s *shape, whole part, term *spreadTerm) skew {
	m := skew{term: term, domains: p.domains(s, whole, term.key)}
	m.counts = maps.Clone(p.filtered(term.peers, term.key, p.filterOf(s, term)))
	m.others = p.fixedDomains(s, term, m.domains)
	if whole.reach != nil {
		reached := whole
		reached.alternatives = whole.reach
		for _, d := range p.domains(s, reached, term.key) {
			if !m.has(d.value) && !d.invented {
				m.others = append(m.others, d.value)
			}
		}
	}
	m.fixed = len(m.others)
	p.countOthers(s, &m)
	m.dropInvented(p.state.plannedValues(term.key))
	return m
}

// dropInvented leaves out domains that exist in name only, where there are others: no node has to be in them, so nothing has to be level with them. Anti-affinity, which
// wants one domain for each pod, keeps them.
func (m *skew) dropInvented(planned []string) {
	if m.term.minDomains == math.MaxInt {
		return
	}
	known := slices.DeleteFunc(slices.Clone(m.domains), func(d domain) bool {
		return d.invented && m.counts[d.value] == 0 && !slices.Contains(planned, d.value)
	})
	if len(known)+len(m.others) > 0 {
		m.domains = known
	}
}

// countOthers adds to a skew the domains that the pods cannot use and that count since other pods are or will be there.
func (p *topology) countOthers(s *shape, m *skew) {
	for value, count := range m.counts {
		// Where peers are or will be there is a node. The order does not matter: what is asked of a skew is its least count and their number.
		if count > 0 && !m.has(value) && s.mayBeIn(m.term, value) {
			m.others = append(m.others, value)
		}
	}
	m.others = append(m.others, p.plannedDomains(s, m.term, m)...)
}

// has reports whether the domain is among those that are measured.
func (m *skew) has(value string) bool {
	return slices.Contains(m.others, value) || slices.ContainsFunc(m.domains, func(d domain) bool { return d.value == value })
}

// plannedDomains are the domains that count for the skew since nodes are planned there for other pods.
func (p *topology) plannedDomains(s *shape, term *spreadTerm, m *skew) []string {
	var others []string
	filter := p.filterOf(s, term)
	for _, value := range p.state.plannedValues(term.key) {
		if m.has(value) {
			continue
		}
		if slices.ContainsFunc(p.state.planned, func(n *node) bool {
			return p.state.plannedValue(n, term.key) == value && filter.countsPlanned(p.state, n)
		}) {
			others = append(others, value)
		}
	}
	return others
}

// over are the domains that have too many for a pod which changes no count.
func (m *skew) over() []string {
	var over []string
	least := m.least()
	for value, n := range m.counts {
		if n-least > m.term.maxSkew {
			over = append(over, value)
		}
	}
	return over
}

// least is the lowest count of all domains, which the skew is measured from; with fewer domains than minDomains it is zero.
func (m *skew) least() int {
	if len(m.domains)+len(m.others) < m.term.minDomains {
		return 0
	}
	lowest := -1
	for i := range m.domains {
		if n := m.counts[m.domains[i].value]; lowest < 0 || n < lowest {
			lowest = n
		}
	}
	for _, value := range m.others {
		if n := m.counts[value]; lowest < 0 || n < lowest {
			lowest = n
		}
	}
	return max(lowest, 0)
}

// spread divides a part over the domains of a spread constraint: each unit goes to the domain that has fewest so far, as long as that keeps the skew.
func (p *topology) spread(s *shape, whole part, term *spreadTerm) []part {
	m := p.skewOf(s, whole, term)
	if len(m.domains) == 0 {
		return p.nowhere(s, whole, term.field, term.key)
	}
	if !term.matchClass(p.work.podClasses, s.class) {
		// The pods do not change what they are spread by: any domain that is not too full already will do.
		least := m.least()
		var allowed []string
		for _, domain := range m.domains {
			if m.counts[domain.value]-least <= term.maxSkew {
				allowed = append(allowed, domain.value)
			}
		}
		narrowed := whole.narrow(scheduling.In(term.key, allowed...))
		if len(allowed) == 0 || len(narrowed.alternatives) == 0 {
			p.state.leave(s, flatten(whole.units), fmt.Sprintf("%s allows it in no %q that can get a node: each has too many of %s already", term.field, term.key, term.selector))
			return nil
		}
		return []part{narrowed}
	}
	// The least count only grows, and is looked up anew only where the skew seems too great.
	least := m.least()
	return p.level(whole, term.key, m.domains, m.counts, func(value string, pods int) bool {
		if m.counts[value]+pods-least > term.maxSkew {
			least = m.least()
		}
		return m.counts[value]+pods-least <= term.maxSkew
	}, func(left part) {
		p.state.leave(s, flatten(left.units), fmt.Sprintf("%s allows no more of its pods in any %q that can get a node", term.field, term.key))
	})
}

// level divides a part over the domains: each unit goes to the one with the lowest count, as long as allowed says yes to it; the rest is given to leave. counts
// is kept up to date.
func (p *topology) level(whole part, key string, domains []domain, counts map[string]int, allowed func(value string, pods int) bool, leave func(part)) []part {
	parts := make([]part, len(domains))
	for i, unit := range whole.units {
		best := 0
		for j := 1; j < len(domains); j++ {
			// Of equally full domains one whose nodes have room left comes before one that needs a new node.
			if a, b := counts[domains[j].value], counts[domains[best].value]; a < b || a == b && domains[j].room > 0 && domains[best].room <= 0 {
				best = j
			}
		}
		value := domains[best].value
		if !allowed(value, len(unit)) {
			left := whole
			left.units = whole.units[i:]
			leave(left)
			break
		}
		if parts[best].units == nil {
			parts[best] = whole.bindTo(key, value)
			parts[best].units = nil
		}
		parts[best].units = append(parts[best].units, unit)
		counts[value] += len(unit)
		domains[best].room--
	}
	parts = slices.DeleteFunc(parts, func(p part) bool { return len(p.units) == 0 })
	return parts
}

// fixedDomains are the domains that count for the skew and can take nothing: those of existing nodes that the constraint counts (cordoned ones among them) but
// that have no room and get no new node.
func (p *topology) fixedDomains(s *shape, term *spreadTerm, domains []domain) []string {
	filter := p.filterOf(s, term)
	key := term.key
	if filter != nil {
		key = filter.name + " " + key
	}
	all, ok := p.board.fixed[key]
	if !ok {
		values := map[string]bool{}
		for i := range p.work.snapshot.Nodes {
			node := &p.work.snapshot.Nodes[i]
			if node.ClosedToPods() {
				continue
			}
			if value, ok := node.Domain(term.key); ok && !values[value] && (filter == nil || filter.counts(node)) {
				values[value] = true
			}
		}
		all = sortedKeys(values)
		p.board.fixed[key] = all
	}
	var others []string
	for _, value := range all {
		if !slices.ContainsFunc(domains, func(d domain) bool { return d.value == value }) {
			others = append(others, value)
		}
	}
	return others
}

// hostSlack is how many of the peers of a spread over hosts each node has that counts: Kubernetes measures the skew from the least of them.
func (p *topology) hostSlack(s *shape) int {
	slack := math.MaxInt
	for i := range s.topology.spread {
		term := &s.topology.spread[i]
		if term.key != corev1.LabelHostname {
			continue
		}
		least, hosts := math.MaxInt, 0
		filter := p.filterOf(s, term)
		for _, e := range p.state.existing {
			if !term.ignoreAffinity && !slices.ContainsFunc(s.strict, e.mayMeet) || term.honorTaints && !scheduling.ToleratesAll(e.taints, s.tolerations) {
				continue
			}
			hosts++
			least = min(least, p.state.count(e, term.peers))
		}
		for i := range p.work.snapshot.Nodes {
			// Until a node is gone the scheduler measures by it.
			if node := &p.work.snapshot.Nodes[i]; node.Node != nil && node.ClosedToPods() && (filter == nil || filter.counts(node)) {
				hosts++
				least = min(least, p.work.runningOn(i, term.peers))
			}
		}
		for _, n := range p.state.planned {
			if filter.countsPlanned(p.state, n) {
				hosts++
				least = min(least, p.state.firstOn(n, term.peers))
			}
		}
		if hosts < term.minDomains || hosts == 0 {
			return 0
		}
		slack = min(slack, least)
	}
	if slack == math.MaxInt {
		return 0
	}
	return slack
}
