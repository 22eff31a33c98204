package topology

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/resource"
	"github.com/whittle-dev/whittle/shared/planner/workload"
)

// Divide adds the pod groups' demands to the placement state, each bound to its domains. Pods that
// no domain may take become leftovers.
func (t *Topology) Divide(groups []*workload.Group) {
	t.placed = false
	clear(t.memo.counted)
	for _, g := range groups {
		t.addTerms(g)
	}
	var waiting []*workload.Group
	for _, g := range groups {
		if g.Problem != "" {
			t.state.AddLeftover(g, g.Pods, g.Problem)
			continue
		}
		waiting = append(waiting, g)
	}
	t.sortForDivision(waiting)
	for len(waiting) > 0 {
		var deferred []*workload.Group
		for _, g := range waiting {
			if t.lacksAffinityPods(g) {
				deferred = append(deferred, g)
				continue
			}
			t.divideGroup(g)
		}
		if len(deferred) == len(waiting) {
			for _, g := range deferred {
				t.divideGroup(g)
			}
			break
		}
		waiting = deferred
	}
	t.state.PrepareDemands()
}

// sortForDivision puts groups first on whose pods the constraints of others depend. Among groups of
// equal rank, those whose volumes leave them few domains choose first.
func (t *Topology) sortForDivision(groups []*workload.Group) {
	bound := slices.ContainsFunc(groups, func(g *workload.Group) bool { return g.VolumeBound })
	if !t.work.Classes.Any && !bound {
		return
	}
	slices.SortStableFunc(groups, func(a, b *workload.Group) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), -placement.CompareBools(a.VolumeBound, b.VolumeBound))
	})
}

// rank orders groups by their constraints: none, affinity only, then spread and anti-affinity. So
// each group finds the pods counted that its constraints are measured by.
func rank(g *workload.Group) int {
	switch {
	case len(g.Topology.Spread)+len(g.Topology.AntiAffinity)+len(g.Topology.Affinity) == 0:
		return 0
	case len(g.Topology.Spread)+len(g.Topology.AntiAffinity) == 0:
		return 1
	}
	return 2
}

// lacksAffinityPods reports whether an affinity term finds no pod yet, and does not select the
// group's own pods.
func (t *Topology) lacksAffinityPods(g *workload.Group) bool {
	for i := range g.Topology.Affinity {
		term := &g.Topology.Affinity[i]
		if term.Key == corev1.LabelHostname || term.MatchesClass(t.work.Classes, g.Class) {
			continue
		}
		if !AnyPositive(t.CountsOf(term.PodSelector, term.Key)) {
			return true
		}
	}
	return false
}

// AnyPositive reports whether a domain has any pods.
func AnyPositive(counts map[string]int) bool {
	for _, n := range counts {
		if n > 0 {
			return true
		}
	}
	return false
}

func (t *Topology) divideGroup(g *workload.Group) {
	whole := Part{Alternatives: g.Alternatives, Units: t.state.Units(g.Pods), memo: t.offers.Feasibilities}
	if !t.work.Classes.Any {
		t.AddDemand(g, &whole)
		return
	}
	parts := t.bind(g, whole)
	for i := range parts {
		if len(parts[i].Units) > 0 {
			t.AddDemand(g, &parts[i])
		}
	}
}

// bind divides a group into parts of one domain for each constraint.
func (t *Topology) bind(g *workload.Group, whole Part) []Part {
	whole, away := t.KeepAway(g, whole)
	if whole.Alternatives == nil {
		t.state.AddLeftover(g, g.Pods, fmt.Sprintf("required anti-affinity, its own or that of other pods, leaves it %s, "+
			"and its node selector, affinity and volumes ask for just what is left out", away))
		return nil
	}
	parts := []Part{whole}
	for i := range g.Topology.Affinity {
		parts = divideEach(parts, func(part Part) []Part { return t.followAffinity(g, part, &g.Topology.Affinity[i]) })
	}
	for i := range g.Topology.AntiAffinity {
		term := &g.Topology.AntiAffinity[i]
		if term.Key == corev1.LabelHostname || !term.MatchesClass(t.work.Classes, g.Class) {
			continue
		}
		// Pods that keep away from each other spread with one pod for each domain.
		alone := workload.SpreadTerm{
			PodSelector: term.PodSelector, Field: term.Field, Key: term.Key, MaxSkew: 1, MinDomains: math.MaxInt,
		}
		parts = divideEach(parts, func(part Part) []Part { return t.spread(g, part, &alone) })
	}
	for i := range g.Topology.Spread {
		if term := &g.Topology.Spread[i]; term.Key != corev1.LabelHostname {
			parts = divideEach(parts, func(part Part) []Part { return t.spread(g, part, term) })
		}
	}
	for _, key := range t.keys {
		parts = divideEach(parts, func(part Part) []Part { return t.bindForOthers(g, part, key) })
	}
	return parts
}

// AddDemand adds the demand of a part, and counts its pods.
func (t *Topology) AddDemand(g *workload.Group, part *Part) *placement.Demand {
	podsEach := len(part.Units[0])
	d := t.state.NewDemand()
	*d = placement.Demand{
		Group: g, Index: len(t.state.Demands), Units: part.Units, Waiting: len(part.Units), Need: g.Need,
		Alternatives: part.Alternatives, Follows: part.Follows, Round: t.state.Round, PodsEach: podsEach,
	}
	if podsEach > 1 {
		d.Need = make(resource.Vector, len(g.Need))
		d.Need.Add(g.Need, int64(podsEach))
	}
	for _, term := range g.Topology.Spread {
		if term.Key == corev1.LabelHostname {
			d.Hosts.Spread = append(d.Hosts.Spread, term)
		}
	}
	for _, term := range g.Topology.AntiAffinity {
		if term.Key == corev1.LabelHostname {
			d.Hosts.AntiAffinity = append(d.Hosts.AntiAffinity, term)
		}
	}
	d.Domains = t.boundBy(part.Alternatives)
	t.state.Demands = append(t.state.Demands, d)
	t.Record(d, len(part.Units)*podsEach)
	return d
}

// boundQuestion is a question to boundBy. The number of keys is enough, since keys only get more.
type boundQuestion struct {
	alternatives *workload.Alternatives
	keys         int
}

// boundBy returns the domains to which the alternatives bind pods, by topology key. Demands with the
// same alternatives share the map.
func (t *Topology) boundBy(alternatives *workload.Alternatives) map[string]string {
	if len(t.keys) == 0 {
		return nil
	}
	question := boundQuestion{alternatives: alternatives, keys: len(t.keys)}
	if bound, ok := t.memo.bound[question]; ok {
		return bound
	}
	var bound map[string]string
	for _, key := range t.keys {
		if value, ok := alternatives.SingleValue(key); ok {
			if bound == nil {
				bound = map[string]string{}
			}
			bound[key] = value
		}
	}
	t.memo.bound[question] = bound
	return bound
}
