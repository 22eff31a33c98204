package repair

import (
	"cmp"
	"maps"
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/topology"
	"github.com/whittle-dev/whittle/shared/planner/workload"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Binding demands to domains before nodes are packed is quick and cheap, and now and then wrong: a domain that was to get nodes gets none for a limit, a pod has to
// follow another one to its host. What is left is put right here, a unit at a time.

// restBudget bounds the work of placing single units: each costs about a look at all nodes and demands.
const restBudget = 4_000_000

// PlaceSingly places single units of the shapes that still have pods waiting, wherever that is legal with all others where they are now.
func (p *Repairer) PlaceSingly() {
	type rest struct {
		shape *workload.Group
		units [][]*corev1.Pod
		take  func(int)
	}
	for _, d := range p.state.Demands {
		if d.Waiting > 0 && d.PodsPerUnit() > 1 {
			// No node has room for all of a unit: as many as there are places for, one after the other, are better than none.
			placed := len(d.Units) - d.Waiting
			p.state.Leave(d.Group, placement.Flatten(d.Units[placed:]), "its pods have to be on one node, and no node has room for all of them")
			d.Units, d.Waiting = d.Units[:placed], 0
		}
	}
	budget := restBudget / (len(p.state.Existing) + len(p.state.Planned) + len(p.state.Demands) + 100)
	for progress := true; progress && budget > 0; {
		progress = false
		var rests []rest
		for i := range p.state.Leftovers {
			l := &p.state.Leftovers[i]
			if l.Group.Problem == "" {
				rests = append(rests, rest{l.Group, placement.Single(l.Pods), func(n int) { l.Pods = l.Pods[n:] }})
			}
		}
		for _, d := range p.state.Demands {
			if d.Waiting > 0 {
				rests = append(rests, rest{d.Group, d.Units[len(d.Units)-d.Waiting:], func(n int) {
					// The units taken leave the demand for one of their own.
					placed := len(d.Units) - d.Waiting
					d.Units = slices.Delete(slices.Clone(d.Units), placed, placed+n)
					d.Waiting -= n
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
		p.state.Leftovers = slices.DeleteFunc(p.state.Leftovers, func(l placement.Leftover) bool { return len(l.Pods) == 0 })
	}
}

// placeUnit places one unit of a shape in the first legal place: on a node that exists, on one that is planned, on a new one.
func (p *Repairer) placeUnit(s *workload.Group, unit []*corev1.Pod) bool {
	for _, choice := range p.choices(s, unit) {
		d := p.topology.AddDemand(s, &choice)
		d.HostSlack = p.topology.HostSlack(s)
		p.state.FinishDemands()
		if p.placeDemand(d) {
			p.state.PlannedChanged()
			p.topology.Record(d, p.topology.PlacedPods(d))
			return true
		}
		p.topology.Record(d, 0)
		for _, t := range p.topology.Counts.Uncertain {
			delete(t.Uncertain, d.Index)
		}
		p.state.Demands = p.state.Demands[:d.Index]
		p.state.DemandsRead = -1 // another demand will have the index
	}
	return false
}

func (p *Repairer) placeDemand(d *placement.Demand) bool {
	for _, e := range p.state.Existing {
		if p.state.FillNode(e, d, 1) > 0 {
			return true
		}
	}
	for _, n := range p.state.Planned {
		if p.state.Followed(n, d) && p.state.RoomFor(n, d, 1) > 0 {
			p.state.Put(n, d, 1)
			return true
		}
	}
	return len(d.Follows) == 0 && p.state.OpenFor(d) != nil
}

// maximumChoices bounds how many domains are tried for one unit.
const maximumChoices = 64

// choices are the domains that one unit may be bound to, best first, each as a part.
func (p *Repairer) choices(s *workload.Group, unit []*corev1.Pod) []topology.Part {
	whole := topology.Part{Alternatives: s.Alternatives, Units: [][]*corev1.Pod{unit}}
	if p.work.Classes.Any {
		if whole, _ = p.topology.KeepAway(s, whole); whole.Alternatives == nil {
			return nil
		}
	}
	parts := []topology.Part{whole}
	if p.offers.Feasibilities.FollowsOne(s, whole.Alternatives) {
		// The alternative that costs least may have no place left.
		for i := range whole.Alternatives.Len() {
			one := whole
			one.Alternatives, one.Reach = workload.NewAlternatives(whole.Alternatives.List()[i:i+1]), whole.Alternatives
			parts = append(parts, one)
		}
	}
	if !p.work.Classes.Any {
		return parts
	}
	divide := func(each func(topology.Part) []topology.Part) {
		var next []topology.Part
		for _, w := range parts {
			next = append(next, each(w)...)
		}
		parts = next[:min(len(next), maximumChoices)]
	}
	keys := map[string]bool{}
	for i := range s.Topology.Affinity {
		term := &s.Topology.Affinity[i]
		divide(func(w topology.Part) []topology.Part { return p.gatherChoices(s, w, term) })
		keys[term.Key] = true
	}
	for i := range s.Topology.Spread {
		term := &s.Topology.Spread[i]
		if term.Key == corev1.LabelHostname {
			continue
		}
		keys[term.Key] = true
		divide(func(w topology.Part) []topology.Part {
			m := p.topology.SkewOf(s, w, term)
			least := m.Least()
			m.Domains = p.topology.WithPlanned(m.Domains, w, term.Key)
			self := 0
			if term.MatchesClass(p.work.Classes, s.Class) {
				self = len(unit)
			}
			slices.SortStableFunc(m.Domains, func(a, b topology.Domain) int { return cmp.Compare(m.Counts[a.Value], m.Counts[b.Value]) })
			var result []topology.Part
			for _, domain := range m.Domains {
				if m.Counts[domain.Value]+self-least <= term.MaxSkew {
					result = append(result, w.BindTo(term.Key, domain.Value))
				}
			}
			return result
		})
	}
	own := maps.Clone(keys)
	for i := range s.Topology.AntiAffinity {
		keys[s.Topology.AntiAffinity[i].Key] = true
	}
	for _, term := range p.topology.Counts.Terms {
		if term.Until >= p.state.Round && term.MatchesClass(p.work.Classes, s.Class) {
			keys[term.Key] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if key == corev1.LabelHostname {
			continue
		}
		divide(func(w topology.Part) []topology.Part {
			if _, ok := w.Alternatives.SingleValue(key); ok {
				return []topology.Part{w}
			}
			var result []topology.Part
			for _, domain := range p.topology.WithPlanned(p.topology.Domains(s, w, key), w, key) {
				result = append(result, w.Narrow(scheduling.In(key, domain.Value)))
			}
			result = append(result, p.topology.NewDomains(w, key)...)
			if !own[key] {
				// Anti-affinity, its own or others', and others' spreads count it nowhere on a node without the label.
				if without := w.Narrow(scheduling.DoesNotExist(key)); without.Alternatives != nil {
					result = append(result, without)
				}
			}
			if len(result) == 0 {
				// No node has the label, so there is nothing that could be violated.
				return []topology.Part{w}
			}
			return result
		})
	}
	return parts
}

// gatherChoices are the domains of the pods that a unit has to be with.
func (p *Repairer) gatherChoices(s *workload.Group, whole topology.Part, term *workload.AffinityTerm) []topology.Part {
	counts := p.topology.CountsOf(term.PodSelector, term.Key)
	if term.Key == corev1.LabelHostname {
		if topology.AnyPositive(counts) || p.topology.HasPlanned(term.PodSelector) {
			whole.Follows = append(slices.Clone(whole.Follows), term.PodSelector)
			return []topology.Part{whole}
		}
		if !term.MatchesClass(p.work.Classes, s.Class) {
			return nil
		}
		return []topology.Part{whole}
	}
	first := !topology.AnyPositive(counts) && term.MatchesClass(p.work.Classes, s.Class)
	var result []topology.Part
	for _, domain := range p.topology.WithPlanned(p.topology.Domains(s, whole, term.Key), whole, term.Key) {
		switch {
		case first:
			result = append(result, whole.BindTo(term.Key, domain.Value))
		case counts[domain.Value] > 0:
			result = append(result, whole.Narrow(scheduling.In(term.Key, domain.Value)))
		}
	}
	return result
}
