package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// demand is a number of equal units that want places: the pods of a shape, or those of them that topology has bound to one domain. A unit is one pod,
// or several that must share a node.
type demand struct {
	shape *shape
	index int
	// units are the pods still without a place on an existing node, in order. They are handed out when the plan is written.
	units [][]*corev1.Pod
	// waiting is how many units still want a place. Whoever gives one a place lowers it.
	waiting int
	// need is that of one unit.
	need vector
	// alternatives are the shape's, narrowed to the demand's domain.
	alternatives []scheduling.Requirements
	hosts        hostTerms

	// feasible are the columns that can hold a unit, from labels, taints, host ports and size. buy are those of them that may be bought for it:
	// exotic types only if the pools of the same weight have no others.
	feasible, buy bitset
	// open is what the demand decides of a pool's open labels, by pool; without an entry it decides nothing.
	open map[*pool]scheduling.Requirements
	// conflicts are the demands whose units cannot share a node with one of this; itself among them where two of its own cannot. Nil is none.
	conflicts bitset
	// value is what a unit is worth in US dollars an hour by the lower bound: see bound.go.
	value float64
}

// columnSets remembers which columns each single label requirement leaves, for the many shapes that ask for the same.
type columnSets struct {
	problem *problem
	byText  map[string]bitset
}

// allowing is the set of columns whose type and offering meet the requirement. The types that do not know the key at all are in, since the pool has
// to decide about those.
func (s *columnSets) allowing(r scheduling.Requirement) bitset {
	text := exactText(r)
	if set, ok := s.byText[text]; ok {
		return set
	}
	p := s.problem
	set := newBitset(len(p.columns))
	ofOffering := isOfferingKey(r.Key())
	for i := range p.configs {
		c := &p.configs[i]
		have, ok := c.typ.Requirements[r.Key()]
		if ok && !ofOffering && !have.Intersects(r) {
			continue
		}
		only := scheduling.Requirements{r.Key(): r}
		for j := c.firstColumn; j < c.endColumn; j++ {
			if !ofOffering || p.columns[j].offering.AllowedBy(only) {
				set.add(j)
			}
		}
	}
	s.byText[text] = set
	return set
}

// exactText tells requirements apart; Requirement.String is for people and shortens.
func exactText(r scheduling.Requirement) string {
	text := ""
	for _, term := range r.Terms() {
		text += term.Key + " " + string(term.Operator)
		for _, value := range term.Values {
			text += " " + value
		}
		text += ";"
	}
	return text
}

func isOfferingKey(key string) bool {
	for _, k := range offeringKeys {
		if k == key {
			return true
		}
	}
	return false
}

// meeting is the set of the pool's columns that meet the requirements, and what they decide of the pool's open labels. It is nil if the pool's template
// cannot meet them.
func (s *columnSets) meeting(pool *pool, requirements scheduling.Requirements) (bitset, scheduling.Requirements) {
	if !pool.requirements.IsCompatible(requirements, scheduling.UndefinedWellKnownIsAny) {
		return nil, nil
	}
	set := newBitset(len(s.problem.columns))
	s.problem.addColumns(set, pool)
	var open scheduling.Requirements
	for key, r := range requirements {
		set.and(s.allowing(r))
		if pool.open[key] {
			if open == nil {
				open = scheduling.Requirements{}
			}
			open.Add(r)
			if have, ok := pool.requirements[key]; ok {
				open.Add(have)
			}
		}
	}
	return set, open
}

func (p *problem) addColumns(set bitset, pool *pool) {
	for i := pool.firstConfig; i < pool.endConfig; i++ {
		for j := p.configs[i].firstColumn; j < p.configs[i].endColumn; j++ {
			set.add(j)
		}
	}
}

// columnsFor is the set of columns that can hold one pod with these alternatives and this need.
func (p *problem) columnsFor(s *shape, alternatives []scheduling.Requirements, need vector) (bitset, map[*pool]scheduling.Requirements) {
	feasible := newBitset(len(p.columns))
	var open map[*pool]scheduling.Requirements
	for _, pool := range p.pools {
		if pool.problem != "" || !scheduling.ToleratesAll(pool.api.Spec.Template.Spec.Taints, s.tolerations) {
			continue
		}
		for _, alternative := range alternatives {
			set, decides := p.sets.meeting(pool, alternative)
			if set == nil {
				continue
			}
			p.keepFitting(set, pool, s, need)
			if set.empty() {
				continue
			}
			if decides == nil {
				feasible.or(set)
				continue
			}
			// The labels that a node still has to get can follow one alternative alone: the first that has a column.
			open = withOpen(open, pool, decides)
			p.dropColumns(feasible, pool)
			feasible.or(set)
			break
		}
	}
	return feasible, open
}

func withOpen(open map[*pool]scheduling.Requirements, p *pool, decides scheduling.Requirements) map[*pool]scheduling.Requirements {
	if open == nil {
		open = map[*pool]scheduling.Requirements{}
	}
	open[p] = decides
	return open
}

func (p *problem) dropColumns(set bitset, pool *pool) {
	all := newBitset(len(p.columns))
	p.addColumns(all, pool)
	set.without(all)
}

// keepFitting leaves the columns in the set whose node has room and free host ports.
func (p *problem) keepFitting(set bitset, pool *pool, s *shape, need vector) {
	for i := pool.firstConfig; i < pool.endConfig; i++ {
		c := &p.configs[i]
		if c.free.fits(need) && (len(s.ports) == 0 || !portsClash(s.ports, c.daemonPorts)) {
			continue
		}
		for j := c.firstColumn; j < c.endColumn; j++ {
			set[j/64] &^= 1 << (j % 64)
		}
	}
}

// finish fills in what follows from feasible columns.
func (p *problem) finish(d *demand) {
	d.feasible, d.open = p.columnsFor(d.shape, d.alternatives, d.need)
	d.buy = d.feasible.clone()
	d.buy.without(p.exotic)
	for first := 0; first < len(p.pools); {
		tier := newBitset(len(p.columns))
		first = p.addTier(tier, first)
		if !d.buy.intersects(tier) {
			tier.and(d.feasible)
			d.buy.or(tier)
		}
	}
}

// addTier adds the columns of the pools that have the same weight as the pool first, and gives the position of the first pool that has not.
func (p *problem) addTier(set bitset, first int) int {
	end := first
	for ; end < len(p.pools) && p.pools[end].weight() == p.pools[first].weight(); end++ {
		p.addColumns(set, p.pools[end])
	}
	return end
}

// readConflicts fills in which demands cannot share a node: those whose host ports clash, and those of which one's required anti-affinity over
// hosts selects the other.
func (p *problem) readConflicts() {
	if !slices.ContainsFunc(p.demands, func(d *demand) bool { return len(d.shape.ports)+len(d.hosts.anti) > 0 }) {
		return
	}
	for _, a := range p.demands {
		for _, b := range p.demands[a.index:] {
			if !portsClash(a.shape.ports, b.shape.ports) && !a.hosts.repels(b.shape.pod()) && !b.hosts.repels(a.shape.pod()) {
				continue
			}
			for _, pair := range [...][2]*demand{{a, b}, {b, a}} {
				if pair[0].conflicts == nil {
					pair[0].conflicts = newBitset(len(p.demands))
				}
				pair[0].conflicts.add(pair[1].index)
			}
		}
	}
}
