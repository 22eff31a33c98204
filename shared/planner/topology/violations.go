package topology

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/workload"
)

// Violations returns how many of the demand's units are where a constraint forbids them, because
// other pods landed elsewhere than they were counted. At most that many have to leave the nodes that
// meet the condition; a nil condition means all of the demand's nodes.
func (t *Topology) Violations(d *placement.Demand) (units int, at func(Place) bool) {
	if units, at = t.affinityViolations(d); units > 0 {
		return units, at
	}
	for _, selector := range d.Follows {
		alone := func(at Place) bool { return t.podsAt(at, selector) == 0 }
		if t.anyPlace(d, alone) {
			return len(d.Units), alone
		}
	}
	most := 0
	for i := range d.Group.Topology.Spread {
		term := &d.Group.Topology.Spread[i]
		if term.Preferred {
			continue
		}
		if term.Key == corev1.LabelHostname {
			if units, at = t.hostSpreadViolations(d, term); units > 0 {
				return units, at
			}
			continue
		}
		units, at = t.spreadViolations(d, i)
		if at != nil {
			return units, at
		}
		most = max(most, units)
	}
	return most, nil
}

// affinityViolations are the units in domains without any pod of a required affinity term.
func (t *Topology) affinityViolations(d *placement.Demand) (int, func(Place) bool) {
	for i := range d.Group.Topology.Affinity {
		term := &d.Group.Topology.Affinity[i]
		if term.Key == corev1.LabelHostname || term.Preferred {
			continue
		}
		outside := t.outsideAffinity(d, term)
		if outside == nil {
			continue
		}
		if value := d.Domains[term.Key]; value == "" {
			return len(d.Units), func(at Place) bool { return outside(t.domainAt(at, term.Key)) }
		} else if outside(value) {
			return len(d.Units), nil
		}
	}
	return 0, nil
}

// hostSpreadViolations are units on a host with too many pods of a spread. Only demands with slack
// can have any, since package placement keeps the others within maxSkew.
func (t *Topology) hostSpreadViolations(d *placement.Demand, term *workload.SpreadTerm) (int, func(Place) bool) {
	if d.HostSlack <= 0 {
		return 0, nil
	}
	slack := t.HostSlack(d.Group)
	over := func(at Place) bool { return t.podsAt(at, term.PodSelector)-slack > term.MaxSkew }
	if !t.anyPlace(d, over) {
		return 0, nil
	}
	return 1, over
}

// spreadViolations are the units beyond the maxSkew of the group's spread i.
func (t *Topology) spreadViolations(d *placement.Demand, i int) (int, func(Place) bool) {
	term := &d.Group.Topology.Spread[i]
	skew := t.measure(d.Group, i)
	if value := d.Domains[term.Key]; value != "" && term.MatchesClass(t.work.Classes, d.Group.Class) {
		return skew.Counts[value] - skew.Least() - term.MaxSkew, nil
	}
	now := skew.over()
	if len(now) == 0 {
		return 0, nil
	}
	// The spread does not count these pods, so they may get their places before the pods that it
	// counts. A domain is too full only if the running pods alone fill it too much as well.
	skew.Counts = t.runningPods(term.PodSelector, term.Key, t.filterOf(d.Group, term))
	before := skew.over()
	over := func(at Place) bool {
		value := t.domainAt(at, term.Key)
		return slices.Contains(now, value) && slices.Contains(before, value)
	}
	if !t.anyPlace(d, over) {
		return 0, nil
	}
	return len(d.Units), over
}

// outsideAffinity returns a test for domains of the term's key that have none of the pods that the
// demand has to be with. It is nil if no domain can fail.
func (t *Topology) outsideAffinity(d *placement.Demand, term *workload.AffinityTerm) func(value string) bool {
	counts := t.CountsOf(term.PodSelector, term.Key)
	if !term.MatchesClass(t.work.Classes, d.Group.Class) {
		return func(value string) bool { return counts[value] <= 0 }
	}
	// The term selects the demand's own pods. The first of them may open a domain, but only one.
	domains := 0
	for _, n := range counts {
		if n > 0 {
			domains++
		}
	}
	if domains < 2 {
		return nil
	}
	running := t.running(term.Key, nil)
	return func(value string) bool {
		for class, n := range running[value] {
			if n > 0 && term.MatchesClass(t.work.Classes, class) {
				return false
			}
		}
		return !slices.ContainsFunc(t.state.Demands, func(other *placement.Demand) bool {
			return other.Counted > 0 && other.Domains[term.Key] == value &&
				term.MatchesClass(t.work.Classes, other.Group.Class) && !requires(other.Group, term)
		})
	}
}

// requires reports whether the group has the same required affinity.
func requires(g *workload.Group, term *workload.AffinityTerm) bool {
	return slices.ContainsFunc(g.Topology.Affinity, func(t workload.AffinityTerm) bool {
		return t.Key == term.Key && t.PodSelector == term.PodSelector && !t.Preferred
	})
}
