package correction

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/planner/topology"
	"github.com/whittle-dev/whittle/shared/planner/workload"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// maximumChoices bounds how many domains are tried for a unit.
const maximumChoices = 64

// choices returns the combinations of domains that a unit may be bound to, best first.
func (c *Corrector) choices(g *workload.Group, unit []*corev1.Pod) []topology.Part {
	whole := topology.Part{Alternatives: g.Alternatives, Units: [][]*corev1.Pod{unit}}
	if c.work.Classes.Any {
		if whole, _ = c.domain.KeepAway(g, whole); whole.Alternatives == nil {
			return nil
		}
	}
	parts := []topology.Part{whole}
	if c.offers.Feasibilities.FollowsOneAlternative(g, whole.Alternatives) {
		// The alternative that costs least may have no place left, so each one is a choice too.
		for i := range whole.Alternatives.Len() {
			one := whole
			one.Alternatives = workload.NewAlternatives(whole.Alternatives.List()[i : i+1])
			one.Reach = whole.Alternatives
			parts = append(parts, one)
		}
	}
	if !c.work.Classes.Any {
		return parts
	}
	divide := func(choose func(topology.Part) []topology.Part) {
		var next []topology.Part
		for _, part := range parts {
			next = append(next, choose(part)...)
		}
		parts = next[:min(len(next), maximumChoices)]
	}
	own := map[string]bool{}
	for i := range g.Topology.Affinity {
		term := &g.Topology.Affinity[i]
		divide(func(part topology.Part) []topology.Part { return c.affinityChoices(g, part, term) })
		own[term.Key] = true
	}
	for i := range g.Topology.Spread {
		if term := &g.Topology.Spread[i]; term.Key != corev1.LabelHostname {
			divide(func(part topology.Part) []topology.Part { return c.spreadChoices(g, part, term) })
			own[term.Key] = true
		}
	}
	for _, key := range c.countedKeys(g, own) {
		divide(func(part topology.Part) []topology.Part { return c.domainChoices(g, part, key, own[key]) })
	}
	return parts
}

// countedKeys are the topology keys of the group's constraints, and of those that count its pods.
func (c *Corrector) countedKeys(g *workload.Group, own map[string]bool) []string {
	keys := maps.Clone(own)
	for i := range g.Topology.AntiAffinity {
		keys[g.Topology.AntiAffinity[i].Key] = true
	}
	for _, key := range c.domain.KeysCounting(g) {
		keys[key] = true
	}
	delete(keys, corev1.LabelHostname)
	return slices.Sorted(maps.Keys(keys))
}

// affinityChoices are the domains of the pods that an affinity term selects.
func (c *Corrector) affinityChoices(
	g *workload.Group, whole topology.Part, term *workload.AffinityTerm,
) []topology.Part {
	counts := c.domain.CountsOf(term.PodSelector, term.Key)
	selectsItself := term.MatchesClass(c.work.Classes, g.Class)
	if term.Key == corev1.LabelHostname {
		switch {
		case topology.AnyPositive(counts) || c.domain.HasDemand(term.PodSelector):
			whole.Follows = append(slices.Clone(whole.Follows), term.PodSelector)
			return []topology.Part{whole}
		case selectsItself:
			return []topology.Part{whole}
		}
		return nil
	}
	first := !topology.AnyPositive(counts) && selectsItself
	var result []topology.Part
	for _, domain := range c.domain.WithPlanned(c.domain.Domains(g, whole, term.Key), whole, term.Key) {
		switch {
		case first:
			result = append(result, whole.BindTo(term.Key, domain.Value))
		case counts[domain.Value] > 0:
			result = append(result, whole.Narrow(scheduling.In(term.Key, domain.Value)))
		}
	}
	return result
}

// spreadChoices are the domains that a spread allows, the emptiest first.
func (c *Corrector) spreadChoices(g *workload.Group, whole topology.Part, term *workload.SpreadTerm) []topology.Part {
	skew := c.domain.SkewOf(g, whole, term)
	least := skew.Least()
	domains := c.domain.WithPlanned(skew.Domains, whole, term.Key)
	self := 0
	if term.MatchesClass(c.work.Classes, g.Class) {
		self = len(whole.Units[0])
	}
	slices.SortStableFunc(domains, func(a, b topology.Domain) int {
		return cmp.Compare(skew.Counts[a.Value], skew.Counts[b.Value])
	})
	var result []topology.Part
	for _, domain := range domains {
		if skew.Counts[domain.Value]+self-least <= term.MaxSkew {
			result = append(result, whole.BindTo(term.Key, domain.Value))
		}
	}
	return result
}

// domainChoices are the domains of a key that a part is not bound to yet. Unless a constraint of the
// group's own needs the label, a node without it will do as well, since nothing counts pods there.
func (c *Corrector) domainChoices(g *workload.Group, part topology.Part, key string, own bool) []topology.Part {
	if _, ok := part.Alternatives.SingleValue(key); ok {
		return []topology.Part{part}
	}
	var result []topology.Part
	for _, domain := range c.domain.WithPlanned(c.domain.Domains(g, part, key), part, key) {
		result = append(result, part.Narrow(scheduling.In(key, domain.Value)))
	}
	result = append(result, c.domain.NewDomains(part, key)...)
	if !own {
		if without := part.Narrow(scheduling.DoesNotExist(key)); without.Alternatives != nil {
			result = append(result, without)
		}
	}
	if len(result) == 0 {
		// No node has the label, so no constraint over it can be violated.
		return []topology.Part{part}
	}
	return result
}
