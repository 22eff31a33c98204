package topology

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/workload"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Skew is a spread's measurement: its domains with their counts.
type Skew struct {
	term   *workload.SpreadTerm
	Counts map[string]int
	// Domains are those that the pods can use.
	Domains []Domain
	// others are domains that count although the pods cannot use them. The first fixed of them do
	// not depend on the plan.
	others []string
	fixed  int
}

// SkewOf measures a spread for a part of the group's pods.
func (t *Topology) SkewOf(g *workload.Group, whole Part, term *workload.SpreadTerm) Skew {
	s := Skew{term: term, Domains: t.Domains(g, whole, term.Key)}
	s.Counts = maps.Clone(t.countsOnNodes(term.PodSelector, term.Key, t.filterOf(g, term)))
	s.others = t.fixedDomains(g, term, s.Domains)
	if whole.Reach != nil {
		reached := whole
		reached.Alternatives = whole.Reach
		for _, d := range t.Domains(g, reached, term.Key) {
			if !s.has(d.Value) && !d.invented {
				s.others = append(s.others, d.Value)
			}
		}
	}
	s.fixed = len(s.others)
	t.addOthers(g, &s)
	s.dropInvented(t.state.PlannedValues(term.Key))
	return s
}

// measure measures the group's spread i as it is now. The domains that the pods can use are found
// once for each group.
func (t *Topology) measure(g *workload.Group, i int) *Skew {
	term := &g.Topology.Spread[i]
	skews := t.memo.skews[g]
	if skews == nil {
		skews = make([]*Skew, len(g.Topology.Spread))
		t.memo.skews[g] = skews
	}
	if skews[i] == nil {
		s := t.SkewOf(g, Part{Units: placement.Single(g.Pods), Alternatives: g.Alternatives}, term)
		skews[i] = &s
	}
	s := skews[i]
	s.Counts = t.countsOnNodes(term.PodSelector, term.Key, t.filterOf(g, term))
	s.others = s.others[:s.fixed]
	t.addOthers(g, s)
	return s
}

// dropInvented leaves out invented domains, if there are other ones. No node has to be in them, so
// nothing has to be level with them. Anti-affinity keeps them, since it wants a domain for each pod.
func (s *Skew) dropInvented(planned []string) {
	if s.term.MinDomains == math.MaxInt {
		return
	}
	known := slices.DeleteFunc(slices.Clone(s.Domains), func(d Domain) bool {
		return d.invented && s.Counts[d.Value] == 0 && !slices.Contains(planned, d.Value)
	})
	if len(known)+len(s.others) > 0 {
		s.Domains = known
	}
}

// addOthers adds the domains that count because other pods are there, or because nodes are planned
// there for other pods. Their order does not matter: only the least count and the number are used.
func (t *Topology) addOthers(g *workload.Group, s *Skew) {
	for value, count := range s.Counts {
		if count > 0 && !s.has(value) && g.MayBeIn(s.term, value) {
			s.others = append(s.others, value)
		}
	}
	var planned []string
	filter := t.filterOf(g, s.term)
	for _, value := range t.state.PlannedValues(s.term.Key) {
		if s.has(value) {
			continue
		}
		if slices.ContainsFunc(t.state.Planned, func(n *placement.PlannedNode) bool {
			return t.state.PlannedValue(n, s.term.Key) == value && filter.countsPlanned(t.state, n)
		}) {
			planned = append(planned, value)
		}
	}
	s.others = append(s.others, planned...)
}

// has reports whether the domain is measured.
func (s *Skew) has(value string) bool {
	return slices.Contains(s.others, value) ||
		slices.ContainsFunc(s.Domains, func(d Domain) bool { return d.Value == value })
}

// over returns the domains that exceed maxSkew, for pods that the spread does not count themselves.
func (s *Skew) over() []string {
	var over []string
	least := s.Least()
	for value, n := range s.Counts {
		if n-least > s.term.MaxSkew {
			over = append(over, value)
		}
	}
	return over
}

// tooFew reports whether there are fewer domains than minDomains.
func (s *Skew) tooFew() bool { return len(s.Domains)+len(s.others) < s.term.MinDomains }

// Least is the lowest count of all domains, from which Kubernetes measures the skew. It is zero
// while there are fewer domains than minDomains.
func (s *Skew) Least() int {
	if s.tooFew() {
		return 0
	}
	lowest := -1
	for i := range s.Domains {
		if n := s.Counts[s.Domains[i].Value]; lowest < 0 || n < lowest {
			lowest = n
		}
	}
	for _, value := range s.others {
		if n := s.Counts[value]; lowest < 0 || n < lowest {
			lowest = n
		}
	}
	return max(lowest, 0)
}

// spread divides a part over the domains of a spread.
func (t *Topology) spread(g *workload.Group, whole Part, term *workload.SpreadTerm) []Part {
	s := t.SkewOf(g, whole, term)
	if len(s.Domains) == 0 {
		return t.noDomain(g, whole, term.Field, term.Key)
	}
	least := s.Least()
	if !term.MatchesClass(t.work.Classes, g.Class) {
		// The spread does not count these pods: every domain will do that is not too full already.
		var allowed []string
		for _, domain := range s.Domains {
			if s.Counts[domain.Value]-least <= term.MaxSkew {
				allowed = append(allowed, domain.Value)
			}
		}
		narrowed := whole.Narrow(scheduling.In(term.Key, allowed...))
		if len(allowed) == 0 || narrowed.Alternatives == nil {
			t.leave(g, whole, fmt.Sprintf("%s allows it in no %q that can get a node: each has too many of %s already",
				term.Field, term.Key, term.Selector))
			return nil
		}
		return []Part{narrowed}
	}
	// The least count only grows, so it is computed again only where the skew seems too great.
	allowed := func(value string, pods int) bool {
		if s.Counts[value]+pods-least > term.MaxSkew {
			least = s.Least()
		}
		return s.Counts[value]+pods-least <= term.MaxSkew
	}
	return t.level(whole, term.Key, s.Domains, s.Counts, allowed, func(left Part) {
		text := fmt.Sprintf("%s allows no more of its pods in any %q that can get a node", term.Field, term.Key)
		if s.tooFew() && term.MinDomains != math.MaxInt {
			text += fmt.Sprintf(": there are %d, fewer than its minDomains of %d, so that the least count is none; "+
				"lower minDomains, or let the pools have more of them", len(s.Domains)+len(s.others), term.MinDomains)
		}
		t.leave(g, left, text)
	})
}

// level divides a part over domains. Each unit goes to the domain with the lowest count, while
// allowed agrees; the rest goes to leave. The counts are kept up to date.
func (t *Topology) level(
	whole Part, key string, domains []Domain, counts map[string]int,
	allowed func(value string, pods int) bool, leave func(Part),
) []Part {
	parts := make([]Part, len(domains))
	for i, unit := range whole.Units {
		best := emptiest(domains, counts)
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
	return slices.DeleteFunc(parts, func(p Part) bool { return len(p.Units) == 0 })
}

// emptiest is the position of the domain with the lowest count. Of equal ones, a domain whose nodes
// have room comes before one that needs a new node.
func emptiest(domains []Domain, counts map[string]int) int {
	best := 0
	for j := 1; j < len(domains); j++ {
		a, b := counts[domains[j].Value], counts[domains[best].Value]
		if a < b || a == b && domains[j].room > 0 && domains[best].room <= 0 {
			best = j
		}
	}
	return best
}

// fixedDomains are the domains of existing nodes that the spread counts, cordoned ones among them,
// and that are not among the given domains, which can take pods.
func (t *Topology) fixedDomains(g *workload.Group, term *workload.SpreadTerm, domains []Domain) []string {
	filter := t.filterOf(g, term)
	name := term.Key
	if filter != nil {
		name = filter.name + " " + name
	}
	all, ok := t.memo.fixed[name]
	if !ok {
		values := map[string]bool{}
		for i := range t.work.Snapshot.Nodes {
			node := &t.work.Snapshot.Nodes[i]
			if node.ClosedToPods() {
				continue
			}
			if value, ok := node.Domain(term.Key); ok && !values[value] && (filter == nil || filter.counts(node)) {
				values[value] = true
			}
		}
		all = dense.SortedKeys(values)
		t.memo.fixed[name] = all
	}
	var others []string
	for _, value := range all {
		if !slices.ContainsFunc(domains, func(d Domain) bool { return d.Value == value }) {
			others = append(others, value)
		}
	}
	return others
}
