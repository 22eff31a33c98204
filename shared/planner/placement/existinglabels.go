package placement

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/workload"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// The labels of a node in flight are not all known, since EC2 may still choose its instance type
// and zone. A pod gets a place only on a node that is sure to meet its requirements, whatever EC2
// chooses. A DaemonSet takes resources of each node that may meet its requirements.

// Accepts reports whether pods of the group may run on the node, by labels, taints, host ports and
// DaemonSets.
func (s *State) Accepts(e *ExistingNode, g *workload.Group, alternatives *workload.Alternatives) bool {
	return g.Tolerates(e.Taints) && !workload.PortsClash(g.Ports, e.ports) && g.Beside.Allows(e.daemonSets) &&
		e.meetsOne(alternatives.List())
}

// meetsOne reports whether the node is sure to meet one of the alternatives. With one instance type
// or zone it may meet another alternative than with the next.
func (e *ExistingNode) meetsOne(alternatives []scheduling.Requirements) bool {
	if slices.ContainsFunc(alternatives, func(a scheduling.Requirements) bool { return meets(a, e.labels, e.types) }) {
		return true
	}
	if len(alternatives) < 2 || len(e.types) == 0 {
		return false
	}
	zones, _ := e.labels[corev1.LabelTopologyZone].Values()
	if len(zones) == 0 {
		zones = []string{""}
	}
	for i := range e.types {
		for _, zone := range zones {
			labels := e.labels
			if zone != "" {
				labels = e.labels.Clone()
				labels[corev1.LabelTopologyZone] = scheduling.In(corev1.LabelTopologyZone, zone)
			}
			if !slices.ContainsFunc(alternatives, func(a scheduling.Requirements) bool {
				return meets(a, labels, e.types[i:i+1])
			}) {
				return false
			}
		}
	}
	return true
}

// meets reports whether all values of the labels, with the labels of each of the types, meet the
// requirements.
func meets(requirements, labels scheduling.Requirements, types []*catalog.InstanceType) bool {
	for key, want := range requirements {
		have, ok := labels[key]
		if ok && have.SubsetOf(want) {
			continue
		}
		if len(types) == 0 {
			if !ok && want.AllowsAbsent() {
				continue
			}
			return false
		}
		for _, typ := range types {
			ofType, typed := typ.Requirements[key]
			if typed && ok {
				ofType = ofType.Intersection(have)
			}
			if typed && !ofType.SubsetOf(want) || !typed && (ok || !want.AllowsAbsent()) {
				return false
			}
		}
	}
	return true
}

// MayMeet reports whether the node meets the requirements for some choice of its instance type and
// zone.
func (e *ExistingNode) MayMeet(requirements scheduling.Requirements) bool {
	for key, want := range requirements {
		have, ok := e.labels[key]
		if ok {
			if !have.Intersects(want) {
				return false
			}
			continue
		}
		if len(e.types) == 0 {
			if !want.AllowsAbsent() {
				return false
			}
			continue
		}
		if !slices.ContainsFunc(e.types, func(typ *catalog.InstanceType) bool {
			ofType, typed := typ.Requirements[key]
			return typed && ofType.Intersects(want) || !typed && want.AllowsAbsent()
		}) {
			return false
		}
	}
	return true
}

// Domain is the node's value of a topology key. It is false if the node has none, or several are
// still possible.
func (e *ExistingNode) Domain(key string) (string, bool) {
	if value, ok := e.labels[key].Single(); ok {
		return value, true
	}
	if key == corev1.LabelHostname && e.Node.Node != nil {
		return e.Node.Node.Name, true
	}
	return "", false
}
