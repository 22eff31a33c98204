package correction

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/workload"
)

// singlyBudget bounds the work of placing single units. Each unit costs about one look at all nodes
// and demands.
const singlyBudget = 4_000_000

// waitingUnits are units of a pod group that wait. The function take removes the first ones.
type waitingUnits struct {
	group *workload.Group
	units [][]*corev1.Pod
	take  func(int)
}

// singly places single units.
type singly struct {
	*Corrector
	failures failures
	// tries is how many more units may be tried.
	tries int
}

// PlaceSingly places the waiting units one at a time, wherever that is legal beside all others.
func (c *Corrector) PlaceSingly() {
	c.splitUnits()
	s := &singly{
		Corrector: c, failures: failures{},
		tries: singlyBudget / (len(c.state.Existing) + len(c.state.Planned) + len(c.state.Demands) + 100),
	}
	for progress := true; progress && s.tries > 0; {
		progress = false
		for _, w := range c.waiting() {
			taken := 0
			for _, unit := range w.units {
				if !s.placeUnit(w.group, unit) {
					break
				}
				taken++
			}
			if taken > 0 {
				w.take(taken)
				progress = true
			}
		}
		c.state.Leftovers = slices.DeleteFunc(c.state.Leftovers, func(l placement.Leftover) bool { return len(l.Pods) == 0 })
	}
}

// splitUnits makes leftovers of units of several pods that no node has room for. Their pods are
// placed one after the other then: some pods with a place are better than none.
func (c *Corrector) splitUnits() {
	for _, d := range c.state.Demands {
		if d.Waiting == 0 || d.PodsPerUnit() == 1 {
			continue
		}
		placed := len(d.Units) - d.Waiting
		c.state.AddLeftover(d.Group, placement.Flatten(d.Units[placed:]),
			"its pods have to be on one node, and no node has room for all of them")
		d.Units, d.Waiting = d.Units[:placed], 0
	}
}

// waiting lists the units of leftovers and demands that wait.
func (c *Corrector) waiting() []waitingUnits {
	var result []waitingUnits
	for i := range c.state.Leftovers {
		l := &c.state.Leftovers[i]
		if l.Group.Problem == "" {
			take := func(n int) { l.Pods = l.Pods[n:] }
			result = append(result, waitingUnits{l.Group, placement.Single(l.Pods), take})
		}
	}
	for _, d := range c.state.Demands {
		if d.Waiting == 0 {
			continue
		}
		take := func(n int) {
			// The units have demands of their own now.
			placed := len(d.Units) - d.Waiting
			d.Units = slices.Delete(slices.Clone(d.Units), placed, placed+n)
			d.Waiting -= n
		}
		result = append(result, waitingUnits{d.Group, d.Units[len(d.Units)-d.Waiting:], take})
	}
	return result
}

// placeUnit places a unit in the first legal place, for the first of its choices that has one.
func (s *singly) placeUnit(g *workload.Group, unit []*corev1.Pod) bool {
	for _, choice := range s.choices(g, unit) {
		if s.tries <= 0 {
			return false
		}
		d := s.domain.AddDemand(g, &choice)
		d.HostSlack = s.domain.HostSlack(g)
		s.state.PrepareDemands()
		if !s.failures.include(d) {
			s.tries--
			if s.placeDemand(d) {
				s.domain.RecordPlaced(d)
				return true
			}
			s.failures.add(d)
		}
		s.domain.Remove(d)
		s.state.DropDemand(d)
	}
	return false
}

// placeDemand places the demand's one unit on an existing node, else on a planned one, else on a new
// one.
func (s *singly) placeDemand(d *placement.Demand) bool {
	for _, e := range s.state.Existing {
		if s.state.FillNode(e, d, 1) > 0 {
			return true
		}
	}
	for _, n := range s.state.Planned {
		if s.state.HasFollowedPods(n, d) && s.state.RoomOrGrow(n, d, 1) > 0 {
			before := n.Offering
			if s.state.PlaceOrGrow(n, d, 1); n.Offering != before {
				clear(s.failures)
			}
			return true
		}
	}
	if len(d.Follows) > 0 || s.state.PlanNodeFor(d) == nil {
		return false
	}
	clear(s.failures)
	return true
}
