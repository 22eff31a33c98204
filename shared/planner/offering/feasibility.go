package offering

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/resource"
	"github.com/whittle-dev/whittle/shared/planner/workload"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// LabelFeasibility is what labels, taints and host ports leave of the offerings, the same for all
// demands that ask for the same.
type LabelFeasibility struct {
	Index     int
	Offerings dense.Set
	// AnyAlternative are the offerings that any of the alternatives leaves, whichever of them is
	// followed. The set never changes, and a pointer identifies it: feasibilities that differ only in
	// the alternative followed share it.
	AnyAlternative *dense.Set
	// Resolves is what the demand decides of a pool's open labels, by pool; without an entry it
	// decides nothing.
	Resolves map[*Pool]scheduling.Requirements
	// choices are, where alternatives decide open labels and the size decides which alternative is
	// followed, the alternatives in each pool.
	choices [][]poolAlternative
	// chosen are the results by choice.
	chosen map[string]*LabelFeasibility
	// largest are, by tier, offerings that are not exotic and that large pods have been found room on;
	// -1 as long as none has.
	largest []int
}

// poolAlternative is one alternative in one pool.
type poolAlternative struct {
	pool      *Pool
	offerings dense.Set
	resolves  scheduling.Requirements
}

// Feasibility are the demands that the same offerings may be bought for, and the same can hold,
// their size aside.
type Feasibility struct {
	*LabelFeasibility
	// Buyable are those of the offerings that may be bought for it: exotic types only if the pools of
	// the same weight have no others.
	Buyable dense.Set
}

// Feasibilities remembers which offerings requirements leave, for the many pod groups that ask for
// the same.
type Feasibilities struct {
	index    *Index
	byText   map[string]dense.Set
	byLabels map[string]*LabelFeasibility
	bySize   map[[2]uint64]*Feasibility
	count    int
	key      []byte
	domains  map[string][]Domain
	// zones and capacityTypes are the offerings of each of zones and capacityTypes.
	zones, capacityTypes []dense.Set
	keys                 map[*Pool]*poolKeys
	// requirements number requirements; narrowed and byPlace remember what follows from alternatives.
	requirements *dense.Table
	narrowed     map[narrowing]*workload.Alternatives
	byTerms      map[termsKey]*LabelFeasibility
	single       map[labelValue]scheduling.Requirement
	// lists are the values that known was asked for.
	lists map[string][]string
	// ScratchSet and ScratchList are memory for one caller at a time.
	ScratchSet  dense.Set
	ScratchList []int
}

func newFeasibilities(p *Index) *Feasibilities {
	return &Feasibilities{
		index: p, byText: map[string]dense.Set{}, byLabels: map[string]*LabelFeasibility{},
		bySize: map[[2]uint64]*Feasibility{}, domains: map[string][]Domain{}, keys: map[*Pool]*poolKeys{},
		requirements: dense.NewTable(
			1,
		), narrowed: map[narrowing]*workload.Alternatives{}, byTerms: map[termsKey]*LabelFeasibility{},
		single:     map[labelValue]scheduling.Requirement{},
		lists:      map[string][]string{},
		ScratchSet: dense.NewSet(len(p.Offerings)),
	}
}

// Allowing is the set of offerings whose type and offering meet the requirement. The types that do
// not know the key at all are in, since the pool has to decide about those.
func (s *Feasibilities) Allowing(r scheduling.Requirement) dense.Set {
	s.key = workload.AppendRequirement(s.key[:0], r)
	if set, ok := s.byText[string(s.key)]; ok {
		return set
	}
	text := string(s.key)
	p := s.index
	set := dense.NewSet(len(p.Offerings))
	ofOffering := IsOfferingKey(r.Key())
	only := catalog.ReadOfferingRequirements(scheduling.Requirements{r.Key(): r})
	for i := range p.PoolTypes {
		c := &p.PoolTypes[i]
		if have, ok := c.Type.Requirements[r.Key()]; ok && !ofOffering && !have.Intersects(r) {
			continue
		}
		for _, j := range c.Offerings {
			if offering := p.Offerings[j].Source; (!ofOffering && len(offering.Requirements) == 0) || only.Allow(offering) {
				set.Add(j)
			}
		}
	}
	s.byText[text] = set
	return set
}

// Meeting is the set of the pool's offerings that meet the requirements, and what they decide of
// the pool's open labels. It is nil if the pool's template cannot meet them.
func (s *Feasibilities) Meeting(pool *Pool, requirements scheduling.Requirements) (dense.Set, scheduling.Requirements) {
	if !pool.Requirements.IsCompatible(requirements, s.index.Undefined) {
		return nil, nil
	}
	set := pool.Offerings.Clone()
	var open scheduling.Requirements
	for key, r := range requirements {
		set.And(s.Allowing(r))
		if s.leavesOpen(pool, key, r) {
			if open == nil {
				open = scheduling.Requirements{}
			}
			open.Add(r)
			if have, ok := pool.Requirements[key]; ok {
				open.Add(have)
			}
		}
	}
	return set, open
}

// leavesOpen reports whether a node of the pool may come to have a value of the label, or none, by
// what pods ask for: neither the pool nor each of its offerings says what it is. Well-known labels
// are not set on a node for it not to have them.
func (s *Feasibilities) leavesOpen(pool *Pool, key string, r scheduling.Requirement) bool {
	facts := s.factsOf(pool, key)
	if pool.IsOpen(key) {
		return true
	}
	if IsOfferingKey(key) || r.AllowsAbsent() && scheduling.IsWellKnown(key) {
		return false
	}
	if own, ok := pool.Requirements[key]; ok {
		if _, single := own.Single(); single {
			return false
		}
	}
	return !facts.all
}

// poolKeys are the labels that anything asks of a pool's nodes.
type poolKeys struct {
	// facts are what the pool's offerings say of each, custom those labels of the user's own that any
	// offering says something of.
	facts  map[string]keyFacts
	custom []string
}

// keyFacts says whether any of a pool's offerings says something of a label, and whether each does.
type keyFacts struct{ any, all bool }

// CustomKeys are the labels of the user's own that have been asked of the pool's nodes so far, and
// that an offering of the pool says something of.
func (s *Feasibilities) CustomKeys(pool *Pool) []string { return s.keysOf(pool).custom }

// keysOf are the labels that have been asked of the pool's nodes so far, the pool's own
// requirements among them.
func (s *Feasibilities) keysOf(pool *Pool) *poolKeys {
	keys, ok := s.keys[pool]
	if !ok {
		keys = &poolKeys{facts: map[string]keyFacts{}}
		s.keys[pool] = keys
		for key := range pool.Requirements {
			s.factsOf(pool, key)
		}
	}
	return keys
}

// factsOf reads what the pool's offerings say of a label once it is asked for.
func (s *Feasibilities) factsOf(pool *Pool, key string) keyFacts {
	keys := s.keysOf(pool)
	if facts, ok := keys.facts[key]; ok {
		return facts
	}
	facts, known := pool.mentioned[key]
	if !known {
		facts = s.readFacts(pool, key)
	}
	keys.facts[key] = facts
	if facts.any && !scheduling.IsWellKnown(key) && !IsOfferingKey(key) {
		keys.custom = append(keys.custom, key)
	}
	return facts
}

func (s *Feasibilities) readFacts(pool *Pool, key string) keyFacts {
	p := s.index
	facts := keyFacts{all: pool.FirstType < pool.EndType}
	for i := pool.FirstType; i < pool.EndType; i++ {
		c := &p.PoolTypes[i]
		if _, ok := c.Type.Requirements[key]; ok {
			facts.any = true
			continue
		}
		for _, j := range c.Offerings {
			if _, ok := p.Offerings[j].Source.Requirements[key]; ok {
				facts.any = true
			} else {
				facts.all = false
			}
		}
	}
	return facts
}

// LabelsFor is what labels, taints and host ports leave for pods of the pod group with these
// alternatives and this need.
func (s *Feasibilities) LabelsFor(
	shape *workload.Group,
	alternatives *workload.Alternatives,
	need resource.Vector,
) *LabelFeasibility {
	place := termsKey{alternatives: alternatives, terms: shape.Terms, avoids: shape.AvoidsTaints}
	l, ok := s.byTerms[place]
	if !ok || len(shape.Ports) > 0 {
		l = s.labelsOf(shape, alternatives)
		if len(shape.Ports) == 0 {
			s.byTerms[place] = l
		}
	}
	if l.choices == nil {
		return l
	}
	return s.followOne(l, need, shape.MostPerNode())
}

// labelsOf is LabelsFor by what the pods and the alternatives say, whatever the size.
func (s *Feasibilities) labelsOf(shape *workload.Group, alternatives *workload.Alternatives) *LabelFeasibility {
	s.key = appendAlternatives(s.key[:0], shape, alternatives)
	l, ok := s.byLabels[string(s.key)]
	if !ok {
		text := string(s.key)
		l = s.readLabels(shape, alternatives)
		s.byLabels[text] = l
	}
	return l
}

// FollowsOneAlternative reports whether new nodes follow one of the alternatives alone: see followOne.
func (s *Feasibilities) FollowsOneAlternative(shape *workload.Group, alternatives *workload.Alternatives) bool {
	return alternatives.Len() >= 2 && s.labelsOf(shape, alternatives).choices != nil
}

func appendAlternatives(key []byte, s *workload.Group, alternatives *workload.Alternatives) []byte {
	if s.AvoidsTaints {
		key = append(key, 'V')
	}
	for i := range s.Tolerations {
		t := &s.Tolerations[i]
		key = dense.AppendText(append(key, 'T'), t.Key)
		key = dense.AppendText(key, string(t.Operator))
		key = dense.AppendText(key, t.Value)
		key = dense.AppendText(key, string(t.Effect))
	}
	for _, port := range s.Ports {
		key = binary.AppendUvarint(append(key, 'P'), uint64(port.Port))
		key = dense.AppendText(key, string(port.Protocol))
		key = dense.AppendText(key, port.IP)
	}
	for _, alternative := range alternatives.List() {
		key = append(key, 'A')
		if len(alternative) == 1 {
			for _, r := range alternative {
				key = workload.AppendRequirement(key, r)
			}
			continue
		}
		for _, name := range alternative.Keys() {
			key = workload.AppendRequirement(key, alternative[name])
		}
	}
	return key
}

func (s *Feasibilities) next() int { s.count++; return s.count - 1 }

func (s *Feasibilities) readLabels(shape *workload.Group, alternatives *workload.Alternatives) *LabelFeasibility {
	p := s.index
	anyAlternative := dense.NewSet(len(p.Offerings))
	l := &LabelFeasibility{
		Index: s.next(), Offerings: dense.NewSet(len(p.Offerings)), AnyAlternative: &anyAlternative,
	}
	for _, pool := range p.Pools {
		if pool.Problem != "" || !shape.Tolerates(pool.NodePool.Spec.Template.Spec.Taints) {
			continue
		}
		var choices []poolAlternative
		decided := false
		for _, alternative := range alternatives.List() {
			set, decides := s.Meeting(pool, alternative)
			if set == nil {
				continue
			}
			p.keepPorts(set, pool, shape)
			if set.Empty() {
				continue
			}
			decided = decided || decides != nil
			l.AnyAlternative.Or(set)
			choices = append(choices, poolAlternative{pool: pool, offerings: set, resolves: decides})
		}
		switch {
		case !decided:
			for _, c := range choices {
				l.Offerings.Or(c.offerings)
			}
		case len(choices) == 1:
			l.add(choices[0])
		default:
			l.choices = append(l.choices, choices)
		}
	}
	return l
}

func (l *LabelFeasibility) add(c poolAlternative) {
	l.Offerings.Or(c.offerings)
	if c.resolves != nil {
		if l.Resolves == nil {
			l.Resolves = map[*Pool]scheduling.Requirements{}
		}
		l.Resolves[c.pool] = c.resolves
	}
}

// pricePerUnit is the least that a node of one of the offerings costs for each unit of this need on
// it, if it has at most so many; infinite without an offering.
func (ix *Index) pricePerUnit(columns dense.Set, need resource.Vector, most int) float64 {
	best := math.Inf(1)
	for j := range columns.All() {
		// Columns come from cheap to dear.
		price := ix.Cost(j)
		if price/float64(most) >= best {
			break
		}
		if room := ix.PoolTypeOf(j).Free.Room(need, int64(most)); room > 0 {
			best = min(best, price/float64(room))
		}
	}
	return best
}

// followOne follows one alternative in each pool where alternatives decide open labels: the labels
// that a node still has to get can follow one alone, that on whose nodes units of the size cost
// least, where a node has at most so many of them.
func (s *Feasibilities) followOne(l *LabelFeasibility, need resource.Vector, most int) *LabelFeasibility {
	var followed []byte
	taken := make([][]poolAlternative, len(l.choices))
	for i, choices := range l.choices {
		best := s.cheapestAlternative(choices, need, most)
		if best >= 0 && choices[best].resolves != nil {
			taken[i] = choices[best : best+1]
		} else if best >= 0 {
			for _, c := range choices {
				if c.resolves == nil {
					taken[i] = append(taken[i], c)
				}
			}
		}
		followed = append(followed, byte(best+1))
	}
	if result, ok := l.chosen[string(followed)]; ok {
		return result
	}
	result := &LabelFeasibility{Index: s.next(), Offerings: l.Offerings.Clone(), AnyAlternative: l.AnyAlternative}
	for pool, open := range l.Resolves {
		result.add(poolAlternative{pool: pool, offerings: dense.NewSet(len(s.index.Offerings)), resolves: open})
	}
	for _, choices := range taken {
		for _, c := range choices {
			result.add(c)
		}
	}
	if l.chosen == nil {
		l.chosen = map[string]*LabelFeasibility{}
	}
	l.chosen[string(followed)] = result
	return result
}

// cheapestAlternative is the position of the alternative on whose nodes units of the need cost
// least; -1 if none has room. An alternative without exotic types comes first.
func (s *Feasibilities) cheapestAlternative(choices []poolAlternative, need resource.Vector, most int) int {
	best, bestExotic, bestPrice := -1, false, 0.0
	for at, c := range choices {
		set := c.offerings.Clone()
		s.index.KeepRoom(set, need)
		if set.Empty() {
			continue
		}
		ordinary := set.Clone()
		ordinary.Without(s.index.Exotic)
		exotic := ordinary.Empty()
		if !exotic {
			set = ordinary
		}
		price := s.index.pricePerUnit(set, need, most)
		if best < 0 || bestExotic && !exotic || bestExotic == exotic && price < bestPrice {
			best, bestExotic, bestPrice = at, exotic, price
		}
	}
	return best
}

// OfferingsFor is the set of offerings that can hold one pod with these alternatives and this need,
// and what it decides of pools' open labels.
func (ix *Index) OfferingsFor(
	s *workload.Group,
	alternatives *workload.Alternatives,
	need resource.Vector,
) (dense.Set, map[*Pool]scheduling.Requirements) {
	l := ix.Feasibilities.LabelsFor(s, alternatives, need)
	feasible := l.Offerings.Clone()
	ix.KeepRoom(feasible, need)
	return feasible, l.Resolves
}

// HasOfferingFor reports whether OfferingsFor returns any.
func (ix *Index) HasOfferingFor(s *workload.Group, alternatives *workload.Alternatives, need resource.Vector) bool {
	feasible := ix.Feasibilities.ScratchSet
	copy(feasible, ix.Feasibilities.LabelsFor(s, alternatives, need).Offerings)
	ix.KeepRoom(feasible, need)
	return !feasible.Empty()
}

// keepPorts leaves the pool's offerings in the set whose daemon sets leave the pod group's host
// ports free.
func (ix *Index) keepPorts(set dense.Set, pool *Pool, s *workload.Group) {
	if len(s.Ports) == 0 {
		return
	}
	for i := pool.FirstType; i < pool.EndType; i++ {
		if c := &ix.PoolTypes[i]; workload.PortsClash(s.Ports, c.daemonPorts) {
			for _, j := range c.Offerings {
				set.Remove(j)
			}
		}
	}
}

// KeepFitting leaves the pool's offerings in the set whose node has room and free host ports.
func (ix *Index) KeepFitting(set dense.Set, pool *Pool, s *workload.Group, need resource.Vector) {
	ix.KeepRoom(set, need)
	ix.keepPorts(set, pool, s)
}

func (ix *Index) FeasibilityFor(
	s *workload.Group,
	alternatives *workload.Alternatives,
	need resource.Vector,
) *Feasibility {
	l := ix.Feasibilities.LabelsFor(s, alternatives, need)
	// Which tiers have nothing but exotic types for it depends on the size.
	var exotic uint64
	for i := range ix.Tiers {
		if !ix.hasOrdinary(l, i, need) {
			exotic |= 1 << min(i, 63)
		}
	}
	key := [2]uint64{uint64(l.Index), exotic}
	c, ok := ix.Feasibilities.bySize[key]
	if !ok {
		c = &Feasibility{LabelFeasibility: l, Buyable: l.Offerings.Clone()}
		for i, tier := range ix.Tiers {
			if exotic&(1<<min(i, 63)) == 0 {
				for w := range c.Buyable {
					c.Buyable[w] &^= tier[w] & ix.Exotic[w]
				}
			}
		}
		ix.Feasibilities.bySize[key] = c
	}
	return c
}

// hasOrdinary reports whether a tier has an offering with room for the need that is not exotic.
func (ix *Index) hasOrdinary(l *LabelFeasibility, tier int, need resource.Vector) bool {
	if l.largest == nil {
		l.largest = slices.Repeat([]int{-1}, len(ix.Tiers))
	}
	if j := l.largest[tier]; j >= 0 && ix.PoolTypeOf(j).Free.Fits(need) {
		return true
	}
	set := ix.Feasibilities.ScratchSet
	for w := range set {
		set[w] = l.Offerings[w] & ix.Tiers[tier][w] &^ ix.Exotic[w]
	}
	ix.KeepRoom(set, need)
	if set.Empty() {
		return false
	}
	// The dearest is as large as any.
	for j := range set.All() {
		l.largest[tier] = j
	}
	return true
}
