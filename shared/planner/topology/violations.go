package topology

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/workload"

	corev1 "k8s.io/api/core/v1"
)

// IndexPlaces notes where each demand's units are. Until the next units get places, demands have them there or nowhere.
func (p *Topology) IndexPlaces() {
	places := make([][]Place, len(p.state.Demands))
	for _, n := range p.state.Planned {
		for _, f := range n.Fills {
			places[f.Demand] = append(places[f.Demand], Place{Planned: n})
		}
	}
	for _, e := range p.state.Existing {
		for _, f := range e.Fills {
			places[f.Demand] = append(places[f.Demand], Place{Existing: e})
		}
	}
	p.Counts.Places = places
}

// eachPlace calls f with the places of the demand's units, and how many are there.
func (p *Topology) eachPlace(d *placement.Demand, f func(at Place, units int)) {
	visit := func(at Place, fills []placement.Fill) {
		if i := slices.IndexFunc(fills, func(f placement.Fill) bool { return f.Demand == d.Index }); i >= 0 {
			f(at, fills[i].Count)
		}
	}
	if d.Waiting == len(d.Units) {
		return
	}
	if p.Counts.Places != nil {
		for _, at := range p.Counts.Places[d.Index] {
			if at.Planned != nil {
				visit(at, at.Planned.Fills)
			} else {
				visit(at, at.Existing.Fills)
			}
		}
		return
	}
	for _, n := range p.state.Planned {
		visit(Place{Planned: n}, n.Fills)
	}
	for _, e := range p.state.Existing {
		visit(Place{Existing: e}, e.Fills)
	}
}

// anyPlace reports whether the demand has a unit in a place that is says yes to.
func (p *Topology) anyPlace(d *placement.Demand, is func(Place) bool) bool {
	any := false
	p.eachPlace(d, func(at Place, _ int) { any = any || is(at) })
	return any
}

// measure measures a spread of the shape's as it is now. Which domains the pods can use is found out once.
func (p *Topology) measure(s *workload.Group, i int) *Skew {
	term := &s.Topology.Spread[i]
	measured := p.Counts.measured[s]
	if measured == nil {
		measured = make([]*Skew, len(s.Topology.Spread))
		p.Counts.measured[s] = measured
	}
	if measured[i] == nil {
		m := p.SkewOf(s, Part{Units: placement.Single(s.Pods), Alternatives: s.Alternatives}, term)
		measured[i] = &m
	}
	m := measured[i]
	m.Counts = p.countsOnNodes(term.PodSelector, term.Key, p.filterOf(s, term))
	m.others = m.others[:m.fixed]
	p.countOthers(s, m)
	return m
}

// Violations is how many of the demand's units are where they may not be: at most so many in the places that from, where it is not nil, says yes to.
func (p *Topology) Violations(d *placement.Demand) (int, func(Place) bool) {
	s := d.Group
	for i := range s.Topology.Affinity {
		term := &s.Topology.Affinity[i]
		if term.Key == corev1.LabelHostname || term.Preferred {
			continue
		}
		alone := p.outsideAffinity(d, term)
		if alone == nil {
			continue
		}
		if value := d.Domains[term.Key]; value == "" {
			return len(d.Units), func(at Place) bool { return alone(p.valueAt(at, term.Key)) }
		} else if alone(value) {
			return len(d.Units), nil
		}
	}
	for _, peers := range d.Follows {
		if p.anyPlace(d, func(at Place) bool { return p.peersAt(at, peers) == 0 }) {
			return len(d.Units), func(at Place) bool { return p.peersAt(at, peers) == 0 }
		}
	}
	most := 0
	for i := range s.Topology.Spread {
		term := &s.Topology.Spread[i]
		if term.Preferred {
			continue
		}
		if term.Key == corev1.LabelHostname {
			if d.HostSlack > 0 {
				slack := p.HostSlack(s)
				over := func(at Place) bool { return p.peersAt(at, term.PodSelector)-slack > term.MaxSkew }
				if p.anyPlace(d, over) {
					return 1, over
				}
			}
			continue
		}
		m := p.measure(s, i)
		if value := d.Domains[term.Key]; value != "" && term.MatchesClass(p.work.Classes, s.Class) {
			most = max(most, m.Counts[value]-m.Least()-term.MaxSkew)
		} else if now := m.over(); len(now) > 0 {
			// Pods that the spread does not count may get their places before all that it counts.
			m.Counts = p.runningPeers(term.PodSelector, term.Key, p.filterOf(s, term))
			before := m.over()
			over := func(at Place) bool {
				value := p.valueAt(at, term.Key)
				return slices.Contains(now, value) && slices.Contains(before, value)
			}
			if p.anyPlace(d, over) {
				return len(d.Units), over
			}
		}
	}
	return most, nil
}

// outsideAffinity says in which domains of the term's key there is nobody that the demand's pods are to be with; nil if that is so in none.
func (p *Topology) outsideAffinity(d *placement.Demand, term *workload.AffinityTerm) func(value string) bool {
	counts := p.CountsOf(term.PodSelector, term.Key)
	if !term.MatchesClass(p.work.Classes, d.Group.Class) {
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
	running := p.running(term.Key, nil)
	return func(value string) bool {
		for class, n := range running[value] {
			if n > 0 && term.MatchesClass(p.work.Classes, class) {
				return false
			}
		}
		return !slices.ContainsFunc(p.state.Demands, func(other *placement.Demand) bool {
			return other.Counted > 0 && other.Domains[term.Key] == value && term.MatchesClass(p.work.Classes, other.Group.Class) &&
				!slices.ContainsFunc(other.Group.Topology.Affinity, func(t workload.AffinityTerm) bool {
					return t.Key == term.Key && t.PodSelector == term.PodSelector && !t.Preferred
				})
		})
	}
}

func (p *Topology) PlacedPods(d *placement.Demand) int {
	return (len(d.Units) - d.Waiting) * d.PodsPerUnit()
}

// peersAt is how many of the peers the place has, and will have by the plan.
func (p *Topology) peersAt(at Place, wanted *workload.PodSelector) int {
	if at.Planned != nil {
		return p.state.PodsOnPlanned(at.Planned, wanted)
	}
	return p.state.PodsOnExisting(at.Existing, wanted)
}

// valueAt is the place's value of a topology key; empty if it has none, or none yet.
func (p *Topology) valueAt(at Place, key string) string {
	if at.Planned != nil {
		return p.state.PlannedValue(at.Planned, key)
	}
	value, _ := at.Existing.Domain(key)
	return value
}

// Place is a node that has pods by the plan: one that exists, or a planned one.
type Place struct {
	Existing *placement.ExistingNode
	Planned  *placement.PlannedNode
}
