package workload

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

const (
	// constraintBudget bounds the distinct constraints of one plan. The costs below are in the same
	// unit, about 60 microseconds of planning.
	constraintBudget = 40_000
	// termsCost is the cost of a pod's node terms, besides requirementCost for each requirement in them.
	termsCost, requirementCost = 25, 3
	// selectorCost is the cost of a constraint that selects pods.
	selectorCost = 20
	// keyCost is the cost of a topology key.
	keyCost = 100
	// listedValues is how many values of a requirement add a cost of one.
	listedValues = 8
	// ordinaryConstraints is how many constraints a pod may have to be an ordinary one.
	ordinaryConstraints = 20
)

// counted is a constraint that selects pods, as groups share it.
type counted struct {
	selector *PodSelector
	key      string
}

// admission decides which groups a plan takes.
type admission struct {
	terms    map[*NodeTerms]bool
	counted  map[counted]bool
	keys     map[string]bool
	admitted int
}

func newAdmission() *admission {
	return &admission{terms: map[*NodeTerms]bool{}, counted: map[counted]bool{}, keys: map[string]bool{}}
}

// admit refuses groups whose constraints would make the plan take too long. Constraints that groups
// share count once. Ordinary groups come first, and namespaces take turns, so that nobody's pods
// keep those of others from being planned.
func (w *Workload) admit() {
	a := newAdmission()
	if !slices.ContainsFunc(w.Groups, func(g *Group) bool { return !a.admits(g) }) {
		return
	}
	a = newAdmission()
	for _, g := range byTurns(w.Groups) {
		if a.admits(g) {
			continue
		}
		g.refusal = fmt.Sprintf("has constraints for which this plan has no time (%d of node affinity, spreads, "+
			"pod affinity, anti-affinity and host ports): the next plan tries again; use fewer", g.constraints())
		g.Problem, g.Topology = g.refusal, TopologyTerms{}
	}
}

// admits reports whether the budget allows the group, and counts its constraints if so.
func (a *admission) admits(g *Group) bool {
	if g.Problem != "" {
		return true
	}
	// A constraint that others share still costs something for each group that has it.
	cost := g.PodConstraints()
	if !a.terms[g.Terms] {
		cost += g.Terms.cost()
	}
	fresh, freshKeys := map[counted]bool{}, map[string]bool{}
	for c := range g.countedConstraints {
		if !a.counted[c] && !fresh[c] {
			fresh[c] = true
			cost += selectorCost
		}
		if !a.keys[c.key] && !freshKeys[c.key] {
			freshKeys[c.key] = true
			cost += keyCost
		}
	}
	if a.admitted+cost > constraintBudget {
		return false
	}
	a.admitted += cost
	a.terms[g.Terms] = true
	maps.Copy(a.counted, fresh)
	maps.Copy(a.keys, freshKeys)
	return true
}

// cost is the cost of the node terms of a pod.
func (t *NodeTerms) cost() int {
	requirements := 0
	for _, alternative := range t.required.List() {
		for _, r := range alternative {
			values, _ := r.Values()
			requirements += requirementCost + len(values)/listedValues
		}
	}
	if requirements == 0 {
		return 0
	}
	return termsCost + requirements
}

// countedConstraints yields the group's constraints that select pods.
func (g *Group) countedConstraints(yield func(counted) bool) {
	for i := range g.Topology.Spread {
		if !yield(counted{g.Topology.Spread[i].PodSelector, g.Topology.Spread[i].Key}) {
			return
		}
	}
	for _, list := range [][]AffinityTerm{g.Topology.Affinity, g.Topology.AntiAffinity} {
		for i := range list {
			if !yield(counted{list[i].PodSelector, list[i].Key}) {
				return
			}
		}
	}
}

// PodConstraints counts the group's constraints on other pods: host ports, spreads, affinity and
// anti-affinity.
func (g *Group) PodConstraints() int {
	return len(g.Ports) + len(g.Topology.Spread) + len(g.Topology.Affinity) + len(g.Topology.AntiAffinity)
}

// constraints counts all constraints of the group.
func (g *Group) constraints() int {
	count := g.PodConstraints()
	for _, alternative := range g.Terms.required.List() {
		count += len(alternative)
	}
	return count
}

// byTurns sorts groups: ordinary ones first, then by their turn within their namespace, where more
// important pods come first.
func byTurns(groups []*Group) []*Group {
	type turn struct {
		group *Group
		// unusual is 1 for a group with many constraints, and number its place in its namespace.
		unusual, number int
	}
	sorted := slices.Clone(groups)
	slices.SortStableFunc(sorted, func(a, b *Group) int { return ComparePods(a.Pod(), b.Pod()) })
	numbers := map[string]int{}
	turns := make([]turn, len(sorted))
	for i, g := range sorted {
		namespace := g.Pod().Namespace
		turns[i] = turn{group: g, number: numbers[namespace]}
		numbers[namespace]++
		if g.constraints() > ordinaryConstraints {
			turns[i].unusual = 1
		}
	}
	slices.SortStableFunc(turns, func(a, b turn) int {
		return cmp.Or(cmp.Compare(a.unusual, b.unusual), cmp.Compare(a.number, b.number))
	})
	for i := range turns {
		sorted[i] = turns[i].group
	}
	return sorted
}

// missing says that nothing has a resource.
func missing(name corev1.ResourceName) string {
	return fmt.Sprintf("requests %s, which no instance type and no node has: correct the request, "+
		"or install what offers the resource", name)
}
