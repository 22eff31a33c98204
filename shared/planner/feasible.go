package planner

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// labelled is what labels, taints and host ports leave of the columns, the same for all demands that ask for the same.
type labelled struct {
	index   int
	columns bitset
	// any are the columns that any of the alternatives leaves, whichever of them is followed.
	any bitset
	// open is what the demand decides of a pool's open labels, by pool; without an entry it decides nothing.
	open map[*pool]scheduling.Requirements
	// choices are, where alternatives decide open labels and the size decides which alternative is followed, the alternatives in each pool.
	choices [][]choice
	// chosen are the results by choice.
	chosen map[string]*labelled
	// largest are, by tier, columns that are not exotic and that large pods have been found room on; -1 as long as none has.
	largest []int
}

// choice is one alternative in one pool.
type choice struct {
	pool    *pool
	columns bitset
	decides scheduling.Requirements
}

// class are the demands that the same columns may be bought for, and the same can hold, their size aside.
type class struct {
	index int
	*labelled
	// buy are those of the columns that may be bought for it: exotic types only if the pools of the same weight have no others.
	buy bitset
}

// columnSets remembers which columns requirements leave, for the many shapes that ask for the same.
type columnSets struct {
	problem  *offerings
	byText   map[string]bitset
	labelled map[string]*labelled
	classes  map[[2]uint64]*class
	count    int
	key      []byte
	domains  map[string][]columnDomain
	// zones and capacityTypes are the columns of each of problem.zones and problem.capacityTypes.
	zones, capacityTypes []bitset
	keys                 map[*pool]*poolKeys
	// requirements number requirements; narrowed and byPlace remember what follows from alternatives.
	requirements *numbering
	narrowed     map[narrowing][]scheduling.Requirements
	byPlace      map[labelledAt]*labelled
	single       map[labelValue]scheduling.Requirement
	// lists are the values that known was asked for.
	lists map[string][]string
	// scratch, standIns and kept are memory.
	scratch, standIns bitset
	kept              []int
}

func newColumnSets(p *offerings) *columnSets {
	return &columnSets{
		problem: p, byText: map[string]bitset{}, labelled: map[string]*labelled{}, classes: map[[2]uint64]*class{}, domains: map[string][]columnDomain{}, keys: map[*pool]*poolKeys{},
		requirements: newNumbering(1), narrowed: map[narrowing][]scheduling.Requirements{}, byPlace: map[labelledAt]*labelled{}, single: map[labelValue]scheduling.Requirement{},
		lists:   map[string][]string{},
		scratch: newBitset(len(p.columns)), standIns: newBitset(len(p.columns)),
	}
}

// allowing is the set of columns whose type and offering meet the requirement. The types that do not know the key at all are in, since the pool has
// to decide about those.
func (s *columnSets) allowing(r scheduling.Requirement) bitset {
	s.key = appendRequirement(s.key[:0], r)
	if set, ok := s.byText[string(s.key)]; ok {
		return set
	}
	text := string(s.key)
	p := s.problem
	set := newBitset(len(p.columns))
	ofOffering := isOfferingKey(r.Key())
	only := catalog.ReadOfferingRequirements(scheduling.Requirements{r.Key(): r})
	for i := range p.configs {
		c := &p.configs[i]
		if have, ok := c.typ.Requirements[r.Key()]; ok && !ofOffering && !have.Intersects(r) {
			continue
		}
		for _, j := range c.columns {
			if offering := p.columns[j].offering; (!ofOffering && len(offering.Requirements) == 0) || only.Allow(offering) {
				set.add(j)
			}
		}
	}
	s.byText[text] = set
	return set
}

// meeting is the set of the pool's columns that meet the requirements, and what they decide of the pool's open labels. It is nil if the pool's template
// cannot meet them.
func (s *columnSets) meeting(pool *pool, requirements scheduling.Requirements) (bitset, scheduling.Requirements) {
	if !pool.requirements.IsCompatible(requirements, s.problem.undefined) {
		return nil, nil
	}
	set := pool.columns.clone()
	var open scheduling.Requirements
	for key, r := range requirements {
		set.and(s.allowing(r))
		if s.opens(pool, key, r) {
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

// opens reports whether a node of the pool may come to have a value of the label, or none, by what pods ask for: neither the pool nor each of its columns says what it
// is. Well-known labels are not set on a node for it not to have them.
func (s *columnSets) opens(pool *pool, key string, r scheduling.Requirement) bool {
	facts := s.factsOf(pool, key)
	if pool.isOpen(key) {
		return true
	}
	if isOfferingKey(key) || r.AllowsAbsent() && scheduling.IsWellKnown(key) {
		return false
	}
	if own, ok := pool.requirements[key]; ok {
		if _, single := own.Single(); single {
			return false
		}
	}
	return !facts.all
}

// poolKeys are the labels that anything asks of a pool's nodes.
type poolKeys struct {
	// facts are what the pool's columns say of each, custom those labels of the user's own that any column says something of.
	facts  map[string]keyFacts
	custom []string
}

// keyFacts says whether any of a pool's columns says something of a label, and whether each does.
type keyFacts struct{ any, all bool }

// keysOf are the labels that have been asked of the pool's nodes so far, the pool's own requirements among them.
func (s *columnSets) keysOf(pool *pool) *poolKeys {
	keys, ok := s.keys[pool]
	if !ok {
		keys = &poolKeys{facts: map[string]keyFacts{}}
		s.keys[pool] = keys
		for key := range pool.requirements {
			s.factsOf(pool, key)
		}
	}
	return keys
}

// factsOf reads what the pool's columns say of a label once it is asked for.
func (s *columnSets) factsOf(pool *pool, key string) keyFacts {
	keys := s.keysOf(pool)
	if facts, ok := keys.facts[key]; ok {
		return facts
	}
	facts, known := pool.mentioned[key]
	if !known {
		facts = s.readFacts(pool, key)
	}
	keys.facts[key] = facts
	if facts.any && !scheduling.IsWellKnown(key) && !isOfferingKey(key) {
		keys.custom = append(keys.custom, key)
	}
	return facts
}

func (s *columnSets) readFacts(pool *pool, key string) keyFacts {
	p := s.problem
	facts := keyFacts{all: pool.firstConfig < pool.endConfig}
	for i := pool.firstConfig; i < pool.endConfig; i++ {
		c := &p.configs[i]
		if _, ok := c.typ.Requirements[key]; ok {
			facts.any = true
			continue
		}
		for _, j := range c.columns {
			if _, ok := p.columns[j].offering.Requirements[key]; ok {
				facts.any = true
			} else {
				facts.all = false
			}
		}
	}
	return facts
}

// labelledFor is what labels, taints and host ports leave for pods of the shape with these alternatives and this need.
func (s *columnSets) labelledFor(shape *shape, alternatives []scheduling.Requirements, need vector) *labelled {
	place := labelledAt{alternatives: at(alternatives), terms: shape.terms, avoids: shape.avoids}
	l, ok := s.byPlace[place]
	if !ok || len(shape.ports) > 0 {
		l = s.labelledAs(shape, alternatives)
		if len(shape.ports) == 0 {
			s.byPlace[place] = l
		}
	}
	if l.choices == nil {
		return l
	}
	return s.choose(l, need, shape.most())
}

// labelledAs is labelledFor by what the pods and the alternatives say, whatever the size.
func (s *columnSets) labelledAs(shape *shape, alternatives []scheduling.Requirements) *labelled {
	s.key = appendAlternatives(s.key[:0], shape, alternatives)
	l, ok := s.labelled[string(s.key)]
	if !ok {
		text := string(s.key)
		l = s.readLabelled(shape, alternatives)
		s.labelled[text] = l
	}
	return l
}

// chooses reports whether new nodes follow one of the alternatives alone: see choose.
func (s *columnSets) chooses(shape *shape, alternatives []scheduling.Requirements) bool {
	return len(alternatives) >= 2 && s.labelledAs(shape, alternatives).choices != nil
}

func appendAlternatives(key []byte, s *shape, alternatives []scheduling.Requirements) []byte {
	if s.avoids {
		key = append(key, 'V')
	}
	for i := range s.tolerations {
		t := &s.tolerations[i]
		key = appendText(append(key, 'T'), t.Key)
		key = appendText(key, string(t.Operator))
		key = appendText(key, t.Value)
		key = appendText(key, string(t.Effect))
	}
	for _, port := range s.ports {
		key = binary.AppendUvarint(append(key, 'P'), uint64(port.port))
		key = appendText(key, string(port.protocol))
		key = appendText(key, port.ip)
	}
	for _, alternative := range alternatives {
		key = append(key, 'A')
		if len(alternative) == 1 {
			for _, r := range alternative {
				key = appendRequirement(key, r)
			}
			continue
		}
		for _, name := range alternative.Keys() {
			key = appendRequirement(key, alternative[name])
		}
	}
	return key
}

func (s *columnSets) next() int { s.count++; return s.count - 1 }

func (s *columnSets) readLabelled(shape *shape, alternatives []scheduling.Requirements) *labelled {
	p := s.problem
	l := &labelled{index: s.next(), columns: newBitset(len(p.columns)), any: newBitset(len(p.columns))}
	for _, pool := range p.pools {
		if pool.problem != "" || !shape.tolerates(pool.api.Spec.Template.Spec.Taints) {
			continue
		}
		var choices []choice
		decided := false
		for _, alternative := range alternatives {
			set, decides := s.meeting(pool, alternative)
			if set == nil {
				continue
			}
			p.keepPorts(set, pool, shape)
			if set.empty() {
				continue
			}
			decided = decided || decides != nil
			l.any.or(set)
			choices = append(choices, choice{pool: pool, columns: set, decides: decides})
		}
		switch {
		case !decided:
			for _, c := range choices {
				l.columns.or(c.columns)
			}
		case len(choices) == 1:
			l.take(choices[0])
		default:
			l.choices = append(l.choices, choices)
		}
	}
	return l
}

func (l *labelled) take(c choice) {
	l.columns.or(c.columns)
	if c.decides != nil {
		if l.open == nil {
			l.open = map[*pool]scheduling.Requirements{}
		}
		l.open[c.pool] = c.decides
	}
}

// pricePerUnit is the least that a node of one of the columns costs for each unit of this need on it, if it has at most so many; infinite without a column.
func (p *offerings) pricePerUnit(columns bitset, need vector, most int) float64 {
	best := math.Inf(1)
	for j := range columns.all() {
		// Columns come from cheap to dear.
		price := p.cost(j)
		if price/float64(most) >= best {
			break
		}
		if room := p.configOf(j).free.room(need, int64(most)); room > 0 {
			best = min(best, price/float64(room))
		}
	}
	return best
}

// choose follows one alternative in each pool where alternatives decide open labels: the labels that a node still has to get can follow one alone, that
// on whose nodes units of the size cost least, where a node has at most so many of them.
func (s *columnSets) choose(l *labelled, need vector, most int) *labelled {
	var followed []byte
	taken := make([][]choice, len(l.choices))
	for i, choices := range l.choices {
		// One without exotic types is followed if there is one.
		best, bestExotic, bestPrice := -1, false, 0.0
		for at, c := range choices {
			set := c.columns.clone()
			s.problem.keepRoom(set, need)
			if set.empty() {
				continue
			}
			ordinary := set.clone()
			ordinary.without(s.problem.exotic)
			exotic := ordinary.empty()
			if !exotic {
				set = ordinary
			}
			price := s.problem.pricePerUnit(set, need, most)
			if best < 0 || bestExotic && !exotic || bestExotic == exotic && price < bestPrice {
				best, bestExotic, bestPrice = at, exotic, price
			}
		}
		if best >= 0 && choices[best].decides != nil {
			taken[i] = choices[best : best+1]
		} else if best >= 0 {
			for _, c := range choices {
				if c.decides == nil {
					taken[i] = append(taken[i], c)
				}
			}
		}
		followed = append(followed, byte(best+1))
	}
	if result, ok := l.chosen[string(followed)]; ok {
		return result
	}
	result := &labelled{index: s.next(), columns: l.columns.clone(), any: l.any}
	for pool, open := range l.open {
		result.take(choice{pool: pool, columns: newBitset(len(s.problem.columns)), decides: open})
	}
	for _, choices := range taken {
		for _, c := range choices {
			result.take(c)
		}
	}
	if l.chosen == nil {
		l.chosen = map[string]*labelled{}
	}
	l.chosen[string(followed)] = result
	return result
}

// columnsFor is the set of columns that can hold one pod with these alternatives and this need, and what it decides of pools' open labels.
func (p *offerings) columnsFor(s *shape, alternatives []scheduling.Requirements, need vector) (bitset, map[*pool]scheduling.Requirements) {
	l := p.sets.labelledFor(s, alternatives, need)
	feasible := l.columns.clone()
	p.keepRoom(feasible, need)
	return feasible, l.open
}

// hasColumnFor reports whether columnsFor gives any.
func (p *offerings) hasColumnFor(s *shape, alternatives []scheduling.Requirements, need vector) bool {
	feasible := p.sets.scratch
	copy(feasible, p.sets.labelledFor(s, alternatives, need).columns)
	p.keepRoom(feasible, need)
	return !feasible.empty()
}

// keepPorts leaves the pool's columns in the set whose daemon sets leave the shape's host ports free.
func (p *offerings) keepPorts(set bitset, pool *pool, s *shape) {
	if len(s.ports) == 0 {
		return
	}
	for i := pool.firstConfig; i < pool.endConfig; i++ {
		if c := &p.configs[i]; portsClash(s.ports, c.daemonPorts) {
			for _, j := range c.columns {
				set.remove(j)
			}
		}
	}
}

// keepFitting leaves the pool's columns in the set whose node has room and free host ports.
func (p *offerings) keepFitting(set bitset, pool *pool, s *shape, need vector) {
	p.keepRoom(set, need)
	p.keepPorts(set, pool, s)
}

func (p *offerings) classFor(s *shape, alternatives []scheduling.Requirements, need vector) *class {
	l := p.sets.labelledFor(s, alternatives, need)
	// Which tiers have nothing but exotic types for it depends on the size.
	var exotic uint64
	for i := range p.tiers {
		if !p.hasOrdinary(l, i, need) {
			exotic |= 1 << min(i, 63)
		}
	}
	key := [2]uint64{uint64(l.index), exotic}
	c, ok := p.sets.classes[key]
	if !ok {
		c = &class{index: len(p.classes), labelled: l, buy: l.columns.clone()}
		for i, tier := range p.tiers {
			if exotic&(1<<min(i, 63)) == 0 {
				for w := range c.buy {
					c.buy[w] &^= tier[w] & p.exotic[w]
				}
			}
		}
		p.sets.classes[key] = c
		p.classes = append(p.classes, c)
	}
	return c
}

// hasOrdinary reports whether a tier has a column with room for the need that is not exotic.
func (p *offerings) hasOrdinary(l *labelled, tier int, need vector) bool {
	if l.largest == nil {
		l.largest = slices.Repeat([]int{-1}, len(p.tiers))
	}
	if j := l.largest[tier]; j >= 0 && p.configOf(j).free.fits(need) {
		return true
	}
	set := p.sets.scratch
	for w := range set {
		set[w] = l.columns[w] & p.tiers[tier][w] &^ p.exotic[w]
	}
	p.keepRoom(set, need)
	if set.empty() {
		return false
	}
	// The dearest is as large as any.
	for j := range set.all() {
		l.largest[tier] = j
	}
	return true
}
