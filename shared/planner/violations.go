package planner

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// readPlaces notes where each demand's units are. Until the next units get places, demands have them there or nowhere.
func (p *topology) readPlaces() {
	places := make([][]place, len(p.state.demands))
	for _, n := range p.state.planned {
		for _, f := range n.fills {
			places[f.demand] = append(places[f.demand], place{planned: n})
		}
	}
	for _, e := range p.state.existing {
		for _, f := range e.fills {
			places[f.demand] = append(places[f.demand], place{existing: e})
		}
	}
	p.board.places = places
}

// eachPlace calls f with the places of the demand's units, and how many are there.
func (p *topology) eachPlace(d *demand, f func(at place, units int)) {
	visit := func(at place, fills []fill) {
		if i := slices.IndexFunc(fills, func(f fill) bool { return f.demand == d.index }); i >= 0 {
			f(at, fills[i].count)
		}
	}
	if d.waiting == len(d.units) {
		return
	}
	if p.board.places != nil {
		for _, at := range p.board.places[d.index] {
			if at.planned != nil {
				visit(at, at.planned.fills)
			} else {
				visit(at, at.existing.fills)
			}
		}
		return
	}
	for _, n := range p.state.planned {
		visit(place{planned: n}, n.fills)
	}
	for _, e := range p.state.existing {
		visit(place{existing: e}, e.fills)
	}
}

// anyPlace reports whether the demand has a unit in a place that is says yes to.
func (p *topology) anyPlace(d *demand, is func(place) bool) bool {
	any := false
	p.eachPlace(d, func(at place, _ int) { any = any || is(at) })
	return any
}

// remeasure measures a spread of the shape's as it is now. Which domains the pods can use is found out once.
func (p *topology) remeasure(s *shape, i int) *skew {
	term := &s.topology.spread[i]
	measured := p.board.measured[s]
	if measured == nil {
		measured = make([]*skew, len(s.topology.spread))
		p.board.measured[s] = measured
	}
	if measured[i] == nil {
		m := p.skewOf(s, part{units: single(s.pods), alternatives: s.alternatives}, term)
		measured[i] = &m
	}
	m := measured[i]
	m.counts = p.filtered(term.peers, term.key, p.filterOf(s, term))
	m.others = m.others[:m.fixed]
	p.countOthers(s, m)
	return m
}

// excess is how many of the demand's units are where they may not be: at most so many in the places that from, where it is not nil, says yes to.
func (p *topology) excess(d *demand) (int, func(place) bool) {
	s := d.shape
	for i := range s.topology.affinity {
		term := &s.topology.affinity[i]
		if term.key == corev1.LabelHostname || term.preferred {
			continue
		}
		alone := p.strays(d, term)
		if alone == nil {
			continue
		}
		if value := d.bound[term.key]; value == "" {
			return len(d.units), func(at place) bool { return alone(p.valueAt(at, term.key)) }
		} else if alone(value) {
			return len(d.units), nil
		}
	}
	for _, peers := range d.follows {
		if p.anyPlace(d, func(at place) bool { return p.peersAt(at, peers) == 0 }) {
			return len(d.units), func(at place) bool { return p.peersAt(at, peers) == 0 }
		}
	}
	most := 0
	for i := range s.topology.spread {
		term := &s.topology.spread[i]
		if term.preferred {
			continue
		}
		if term.key == corev1.LabelHostname {
			if d.slack > 0 {
				slack := p.hostSlack(s)
				over := func(at place) bool { return p.peersAt(at, term.peers)-slack > term.maxSkew }
				if p.anyPlace(d, over) {
					return 1, over
				}
			}
			continue
		}
		m := p.remeasure(s, i)
		if value := d.bound[term.key]; value != "" && term.matchClass(p.work.podClasses, s.class) {
			most = max(most, m.counts[value]-m.least()-term.maxSkew)
		} else if now := m.over(); len(now) > 0 {
			// Pods that the spread does not count may get their places before all that it counts.
			m.counts = p.runningPeers(term.peers, term.key, p.filterOf(s, term))
			before := m.over()
			over := func(at place) bool {
				value := p.valueAt(at, term.key)
				return slices.Contains(now, value) && slices.Contains(before, value)
			}
			if p.anyPlace(d, over) {
				return len(d.units), over
			}
		}
	}
	return most, nil
}

// strays says in which domains of the term's key there is nobody that the demand's pods are to be with; nil if that is so in none.
func (p *topology) strays(d *demand, term *affinityTerm) func(value string) bool {
	counts := p.tally(term.peers, term.key)
	if !term.matchClass(p.work.podClasses, d.shape.class) {
		return func(value string) bool { return counts[value] <= 0 }
	}
	// Pods of its own kind will do, and the first of them may go where there is none yet, if there is none anywhere.
	domains := 0
	for _, n := range counts {
		if n > 0 {
			domains++
		}
	}
	if domains < 2 {
		return nil
	}
	running := p.running(term.key, nil)
	return func(value string) bool {
		for class, n := range running[value] {
			if n > 0 && term.matchClass(p.work.podClasses, class) {
				return false
			}
		}
		return !slices.ContainsFunc(p.state.demands, func(other *demand) bool {
			return other.counted > 0 && other.bound[term.key] == value && term.matchClass(p.work.podClasses, other.shape.class) &&
				!slices.ContainsFunc(other.shape.topology.affinity, func(t affinityTerm) bool { return t.key == term.key && t.peers == term.peers && !t.preferred })
		})
	}
}

func (p *topology) placedPods(d *demand) int {
	return (len(d.units) - d.waiting) * d.pods()
}

// peersAt is how many of the peers the place has, and will have by the plan.
func (p *topology) peersAt(at place, wanted *peers) int {
	if at.planned != nil {
		return p.state.peersOn(at.planned, wanted)
	}
	return p.state.count(at.existing, wanted)
}

// valueAt is the place's value of a topology key; empty if it has none, or none yet.
func (p *topology) valueAt(at place, key string) string {
	if at.planned != nil {
		return p.state.plannedValue(at.planned, key)
	}
	value, _ := at.existing.domain(key)
	return value
}

// place is a node that has pods by the plan: one that exists, or a planned one.
type place struct {
	existing *existing
	planned  *node
}
