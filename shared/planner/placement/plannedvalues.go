package placement

import (
	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// plannedValues remembers label values of the planned nodes, until PlannedChanged.
type plannedValues struct {
	// byKey has the answers of PlannedValues.
	byKey map[string][]string
	// custom has the values of custom labels that the nodes' claims will choose.
	custom map[nodeLabel]string
}

// nodeLabel is a label of a planned node.
type nodeLabel struct {
	node *PlannedNode
	key  string
}

func newPlannedValues() plannedValues {
	return plannedValues{byKey: map[string][]string{}, custom: map[nodeLabel]string{}}
}

// forget must be called after a change of the planned nodes.
func (v *plannedValues) forget() {
	clear(v.byKey)
	clear(v.custom)
}

// PlannedChanged must be called after a change of the planned nodes by other means than PlaceOrGrow
// and PlanNodeFor. The State forgets what it remembers about them.
func (s *State) PlannedChanged() {
	s.values.forget()
	s.growth.forget()
}

// PlannedValues are the values that the planned nodes will have of a label, sorted.
func (s *State) PlannedValues(key string) []string {
	if known, ok := s.values.byKey[key]; ok {
		return known
	}
	values := map[string]bool{}
	for _, n := range s.Planned {
		if value := s.PlannedValue(n, key); value != "" {
			values[value] = true
		}
	}
	s.values.byKey[key] = dense.SortedKeys(values)
	return s.values.byKey[key]
}

// PlannedValue is the value that a planned node will have of a label. It is empty if several are
// possible, or none.
func (s *State) PlannedValue(n *PlannedNode, key string) string {
	if value, ok := n.Resolved.Labels()[key].Single(); ok {
		return value
	}
	if !scheduling.IsWellKnown(key) && !offering.IsOfferingKey(key) {
		at := nodeLabel{n, key}
		value, known := s.values.custom[at]
		if !known {
			// Package claims chooses the value in the same way.
			if r, asked := s.LabelsOf(n)[key]; asked {
				value, _ = s.Offers.ValueOn(n.Offering, r)
			}
			s.values.custom[at] = value
		}
		if value != "" {
			return value
		}
	}
	values := s.Offers.ValuesOf(s.Offers.PoolTypeOf(n.Offering).Pool, n.Offering, key)
	if len(values) != 1 {
		return ""
	}
	return values[0]
}
