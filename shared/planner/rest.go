package planner

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Binding demands to domains before nodes are packed is quick and cheap, and now and then wrong: a domain that was to get nodes gets none for a limit, a pod has to
// follow another one to its host. What is left is put right here, a unit at a time.

// restBudget bounds the work of placing single units: each costs about a look at all nodes and demands.
const restBudget = 4_000_000

// placeRest places single units of the shapes that still have pods waiting, wherever that is legal with all others where they are now.
func (p *repairs) placeRest() {
	type rest struct {
		shape *shape
		units [][]*corev1.Pod
		take  func(int)
	}
	for _, d := range p.state.demands {
		if d.waiting > 0 && d.pods() > 1 {
			// No node has room for all of a unit: as many as there are places for, one after the other, are better than none.
			placed := len(d.units) - d.waiting
			p.state.leave(d.shape, flatten(d.units[placed:]), "its pods have to be on one node, and no node has room for all of them")
			d.units, d.waiting = d.units[:placed], 0
		}
	}
	budget := restBudget / (len(p.state.existing) + len(p.state.planned) + len(p.state.demands) + 100)
	for progress := true; progress && budget > 0; {
		progress = false
		var rests []rest
		for i := range p.state.left {
			l := &p.state.left[i]
			if l.shape.problem == "" {
				rests = append(rests, rest{l.shape, single(l.pods), func(n int) { l.pods = l.pods[n:] }})
			}
		}
		for _, d := range p.state.demands {
			if d.waiting > 0 {
				rests = append(rests, rest{d.shape, d.units[len(d.units)-d.waiting:], func(n int) {
					// The units taken leave the demand for one of their own.
					placed := len(d.units) - d.waiting
					d.units = slices.Delete(slices.Clone(d.units), placed, placed+n)
					d.waiting -= n
				}})
			}
		}
		for _, r := range rests {
			taken := 0
			for _, unit := range r.units {
				if budget--; budget <= 0 || !p.placeUnit(r.shape, unit) {
					break
				}
				taken++
			}
			if taken > 0 {
				r.take(taken)
				progress = true
			}
		}
		p.state.left = slices.DeleteFunc(p.state.left, func(l leftover) bool { return len(l.pods) == 0 })
	}
}

// placeUnit places one unit of a shape in the first legal place: on a node that exists, on one that is planned, on a new one.
func (p *repairs) placeUnit(s *shape, unit []*corev1.Pod) bool {
	for _, choice := range p.choices(s, unit) {
		d := p.topology.demand(s, &choice)
		d.slack = p.topology.hostSlack(s)
		p.state.readDemands()
		if p.placeDemand(d) {
			p.state.replan()
			p.topology.recount(d, p.topology.placedPods(d))
			return true
		}
		p.topology.recount(d, 0)
		for _, t := range p.topology.board.doubtful {
			delete(t.doubtful, d.index)
		}
		p.state.demands = p.state.demands[:d.index]
		p.state.demandsRead = -1 // another demand will have the index
	}
	return false
}

func (p *repairs) placeDemand(d *demand) bool {
	for _, e := range p.state.existing {
		if p.state.fillNode(e, d, 1) > 0 {
			return true
		}
	}
	for _, n := range p.state.planned {
		if p.state.followed(n, d) && p.state.roomFor(n, d, 1) > 0 {
			p.state.put(n, d, 1)
			return true
		}
	}
	return len(d.follows) == 0 && p.state.openFor(d) != nil
}

// maximumChoices bounds how many domains are tried for one unit.
const maximumChoices = 64

// choices are the domains that one unit may be bound to, best first, each as a part.
func (p *repairs) choices(s *shape, unit []*corev1.Pod) []part {
	whole := part{alternatives: s.alternatives, units: [][]*corev1.Pod{unit}}
	if p.work.podClasses.any {
		if whole, _ = p.topology.keepAway(s, whole); len(whole.alternatives) == 0 {
			return nil
		}
	}
	parts := []part{whole}
	if p.offers.sets.chooses(s, whole.alternatives) {
		// The alternative that costs least may have no place left.
		for i := range whole.alternatives {
			one := whole
			one.alternatives, one.reach = whole.alternatives[i:i+1], whole.alternatives
			parts = append(parts, one)
		}
	}
	if !p.work.podClasses.any {
		return parts
	}
	divide := func(each func(part) []part) {
		var next []part
		for _, w := range parts {
			next = append(next, each(w)...)
		}
		parts = next[:min(len(next), maximumChoices)]
	}
	keys := map[string]bool{}
	for i := range s.topology.affinity {
		term := &s.topology.affinity[i]
		divide(func(w part) []part { return p.gatherChoices(s, w, term) })
		keys[term.key] = true
	}
	for i := range s.topology.spread {
		term := &s.topology.spread[i]
		if term.key == corev1.LabelHostname {
			continue
		}
		keys[term.key] = true
		divide(func(w part) []part {
			m := p.topology.skewOf(s, w, term)
			least := m.least()
			m.domains = p.topology.withPlanned(m.domains, w, term.key)
			self := 0
			if term.matchClass(p.work.podClasses, s.class) {
				self = len(unit)
			}
			slices.SortStableFunc(m.domains, func(a, b domain) int { return cmp.Compare(m.counts[a.value], m.counts[b.value]) })
			var result []part
			for _, domain := range m.domains {
				if m.counts[domain.value]+self-least <= term.maxSkew {
					result = append(result, w.bindTo(term.key, domain.value))
				}
			}
			return result
		})
	}
	own := maps.Clone(keys)
	for i := range s.topology.anti {
		keys[s.topology.anti[i].key] = true
	}
	for _, term := range p.topology.board.terms {
		if term.until >= p.state.round && term.matchClass(p.work.podClasses, s.class) {
			keys[term.key] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if key == corev1.LabelHostname {
			continue
		}
		divide(func(w part) []part {
			if _, ok := singleValue(w.alternatives, key); ok {
				return []part{w}
			}
			var result []part
			for _, domain := range p.topology.withPlanned(p.topology.domains(s, w, key), w, key) {
				result = append(result, w.narrow(scheduling.In(key, domain.value)))
			}
			result = append(result, p.topology.unheardOf(w, key)...)
			if !own[key] {
				// Anti-affinity, its own or others', and others' spreads count it nowhere on a node without the label.
				if without := w.narrow(scheduling.DoesNotExist(key)); len(without.alternatives) > 0 {
					result = append(result, without)
				}
			}
			if len(result) == 0 {
				// No node has the label, so there is nothing that could be violated.
				return []part{w}
			}
			return result
		})
	}
	return parts
}

// gatherChoices are the domains of the pods that a unit has to be with.
func (p *repairs) gatherChoices(s *shape, whole part, term *affinityTerm) []part {
	counts := p.topology.tally(term.peers, term.key)
	if term.key == corev1.LabelHostname {
		if anyPositive(counts) || p.topology.hasPlanned(term.peers) {
			whole.follows = append(slices.Clone(whole.follows), term.peers)
			return []part{whole}
		}
		if !term.matchClass(p.work.podClasses, s.class) {
			return nil
		}
		return []part{whole}
	}
	first := !anyPositive(counts) && term.matchClass(p.work.podClasses, s.class)
	var result []part
	for _, domain := range p.topology.withPlanned(p.topology.domains(s, whole, term.key), whole, term.key) {
		switch {
		case first:
			result = append(result, whole.bindTo(term.key, domain.value))
		case counts[domain.value] > 0:
			result = append(result, whole.narrow(scheduling.In(term.key, domain.value)))
		}
	}
	return result
}
