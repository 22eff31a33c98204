package topology

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/workload"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Skew measures the counts of a spread's domains.
type Skew struct {
	term   *workload.SpreadTerm
	Counts map[string]int
	// Domains are those that the pod can use, others those that count beside them.
	Domains []Domain
	others  []string
	// fixed is how many of the others do not depend on the plan.
	fixed int
}

// SkewOf measures a spread for a part of the shape's pods.
func (p *Topology) SkewOf(s *workload.Group, whole Part, term *workload.SpreadTerm) Skew {
	m := Skew{term: term, Domains: p.Domains(s, whole, term.Key)}
	m.Counts = maps.Clone(p.countsOnNodes(term.PodSelector, term.Key, p.filterOf(s, term)))
	m.others = p.fixedDomains(s, term, m.Domains)
	if whole.Reach != nil {
		reached := whole
		reached.Alternatives = whole.Reach
		for _, d := range p.Domains(s, reached, term.Key) {
			if !m.has(d.Value) && !d.invented {
				m.others = append(m.others, d.Value)
			}
		}
	}
	m.fixed = len(m.others)
	p.countOthers(s, &m)
	m.dropInvented(p.state.PlannedValues(term.Key))
	return m
}

// dropInvented leaves out domains that exist in name only, where there are others: no node has to be in them, so nothing has to be level with them. Anti-affinity, which
// wants one domain for each pod, keeps them.
func (m *Skew) dropInvented(planned []string) {
	if m.term.MinDomains == math.MaxInt {
		return
	}
	known := slices.DeleteFunc(slices.Clone(m.Domains), func(d Domain) bool {
		return d.invented && m.Counts[d.Value] == 0 && !slices.Contains(planned, d.Value)
	})
	if len(known)+len(m.others) > 0 {
		m.Domains = known
	}
}

// countOthers adds to a skew the domains that the pods cannot use and that count since other pods are or will be there.
func (p *Topology) countOthers(s *workload.Group, m *Skew) {
	for value, count := range m.Counts {
		// Where peers are or will be there is a node. The order does not matter: what is asked of a skew is its least count and their number.
		if count > 0 && !m.has(value) && s.MayBeIn(m.term, value) {
			m.others = append(m.others, value)
		}
	}
	m.others = append(m.others, p.plannedDomains(s, m.term, m)...)
}

// has reports whether the domain is among those that are measured.
func (m *Skew) has(value string) bool {
	return slices.Contains(m.others, value) || slices.ContainsFunc(m.Domains, func(d Domain) bool { return d.Value == value })
}

// plannedDomains are the domains that count for the skew since nodes are planned there for other pods.
func (p *Topology) plannedDomains(s *workload.Group, term *workload.SpreadTerm, m *Skew) []string {
	var others []string
	filter := p.filterOf(s, term)
	for _, value := range p.state.PlannedValues(term.Key) {
		if m.has(value) {
			continue
		}
		if slices.ContainsFunc(p.state.Planned, func(n *placement.PlannedNode) bool {
			return p.state.PlannedValue(n, term.Key) == value && filter.countsPlanned(p.state, n)
		}) {
			others = append(others, value)
		}
	}
	return others
}

// over are the domains that have too many for a pod which changes no count.
func (m *Skew) over() []string {
	var over []string
	least := m.Least()
	for value, n := range m.Counts {
		if n-least > m.term.MaxSkew {
			over = append(over, value)
		}
	}
	return over
}

// Least is the lowest count of all domains, which the skew is measured from; with fewer domains than minDomains it is zero.
func (m *Skew) Least() int {
	if len(m.Domains)+len(m.others) < m.term.MinDomains {
		return 0
	}
	lowest := -1
	for i := range m.Domains {
		if n := m.Counts[m.Domains[i].Value]; lowest < 0 || n < lowest {
			lowest = n
		}
	}
	for _, value := range m.others {
		if n := m.Counts[value]; lowest < 0 || n < lowest {
			lowest = n
		}
	}
	return max(lowest, 0)
}

// spread divides a part over the domains of a spread constraint: each unit goes to the domain that has fewest so far, as long as that keeps the skew.
func (p *Topology) spread(s *workload.Group, whole Part, term *workload.SpreadTerm) []Part {
	m := p.SkewOf(s, whole, term)
	if len(m.Domains) == 0 {
		return p.noDomain(s, whole, term.Field, term.Key)
	}
	if !term.MatchesClass(p.work.Classes, s.Class) {
		// The pods do not change what they are spread by: any domain that is not too full already will do.
		least := m.Least()
		var allowed []string
		for _, domain := range m.Domains {
			if m.Counts[domain.Value]-least <= term.MaxSkew {
				allowed = append(allowed, domain.Value)
			}
		}
		narrowed := whole.Narrow(scheduling.In(term.Key, allowed...))
		if len(allowed) == 0 || narrowed.Alternatives == nil {
			p.state.Leave(s, placement.Flatten(whole.Units), fmt.Sprintf("%s allows it in no %q that can get a node: each has too many of %s already", term.Field, term.Key, term.Selector))
			return nil
		}
		return []Part{narrowed}
	}
	// The least count only grows, and is looked up anew only where the skew seems too great.
	least := m.Least()
	return p.level(whole, term.Key, m.Domains, m.Counts, func(value string, pods int) bool {
		if m.Counts[value]+pods-least > term.MaxSkew {
			least = m.Least()
		}
		return m.Counts[value]+pods-least <= term.MaxSkew
	}, func(left Part) {
		p.state.Leave(s, placement.Flatten(left.Units), fmt.Sprintf("%s allows no more of its pods in any %q that can get a node", term.Field, term.Key))
	})
}

// level divides a part over the domains: each unit goes to the one with the lowest count, as long as allowed says yes to it; the rest is given to leave. counts
// is kept up to date.
func (p *Topology) level(whole Part, key string, domains []Domain, counts map[string]int, allowed func(value string, pods int) bool, leave func(Part)) []Part {
	parts := make([]Part, len(domains))
	for i, unit := range whole.Units {
		best := 0
		for j := 1; j < len(domains); j++ {
			// Of equally full domains one whose nodes have room left comes before one that needs a new node.
			if a, b := counts[domains[j].Value], counts[domains[best].Value]; a < b || a == b && domains[j].room > 0 && domains[best].room <= 0 {
				best = j
			}
		}
		value := domains[best].Value
		if !allowed(value, len(unit)) {
			left := whole
			left.Units = whole.Units[i:]
			leave(left)
			break
		}
		if parts[best].Units == nil {
			parts[best] = whole.BindTo(key, value)
			parts[best].Units = nil
		}
		parts[best].Units = append(parts[best].Units, unit)
		counts[value] += len(unit)
		domains[best].room--
	}
	parts = slices.DeleteFunc(parts, func(p Part) bool { return len(p.Units) == 0 })
	return parts
}

// fixedDomains are the domains that count for the skew and can take nothing: those of existing nodes that the constraint counts (cordoned ones among them) but
// that have no room and get no new node.
func (p *Topology) fixedDomains(s *workload.Group, term *workload.SpreadTerm, domains []Domain) []string {
	filter := p.filterOf(s, term)
	key := term.Key
	if filter != nil {
		key = filter.name + " " + key
	}
	all, ok := p.Counts.fixed[key]
	if !ok {
		values := map[string]bool{}
		for i := range p.work.Snapshot.Nodes {
			node := &p.work.Snapshot.Nodes[i]
			if node.ClosedToPods() {
				continue
			}
			if value, ok := node.Domain(term.Key); ok && !values[value] && (filter == nil || filter.counts(node)) {
				values[value] = true
			}
		}
		all = dense.SortedKeys(values)
		p.Counts.fixed[key] = all
	}
	var others []string
	for _, value := range all {
		if !slices.ContainsFunc(domains, func(d Domain) bool { return d.Value == value }) {
			others = append(others, value)
		}
	}
	return others
}

// HostSlack is how many of the peers of a spread over hosts each node has that counts: Kubernetes measures the skew from the least of them.
func (p *Topology) HostSlack(s *workload.Group) int {
	slack := math.MaxInt
	for i := range s.Topology.Spread {
		term := &s.Topology.Spread[i]
		if term.Key != corev1.LabelHostname {
			continue
		}
		least, hosts := math.MaxInt, 0
		filter := p.filterOf(s, term)
		for _, e := range p.state.Existing {
			if !term.IgnoreAffinity && !slices.ContainsFunc(s.Required.List(), e.MayMeet) || term.HonorTaints && !scheduling.ToleratesAll(e.Taints, s.Tolerations) {
				continue
			}
			hosts++
			least = min(least, p.state.PodsOnExisting(e, term.PodSelector))
		}
		for i := range p.work.Snapshot.Nodes {
			// Until a node is gone the scheduler measures by it.
			if node := &p.work.Snapshot.Nodes[i]; node.Node != nil && node.ClosedToPods() && (filter == nil || filter.counts(node)) {
				hosts++
				least = min(least, p.work.RunningOn(i, term.PodSelector))
			}
		}
		for _, n := range p.state.Planned {
			if filter.countsPlanned(p.state, n) {
				hosts++
				least = min(least, p.state.IndependentPodsOn(n, term.PodSelector))
			}
		}
		if hosts < term.MinDomains || hosts == 0 {
			return 0
		}
		slack = min(slack, least)
	}
	if slack == math.MaxInt {
		return 0
	}
	return slack
}
