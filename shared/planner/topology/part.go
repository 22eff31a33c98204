package topology

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/workload"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Part is some units of a pod group, with the requirements of the domains that they may still use.
type Part struct {
	Units [][]*corev1.Pod
	// Alternatives are the group's, narrowed to those domains.
	Alternatives *workload.Alternatives
	// Reach are the alternatives over which spreads are measured, after the part was bound to one of
	// several domains: Kubernetes counts every domain that a pod could have used. Nil means
	// Alternatives.
	Reach *workload.Alternatives
	// Follows are selectors of pods. A node must have one of each before it takes a unit.
	Follows []*workload.PodSelector
	// memo remembers narrowed alternatives; nil remembers nothing.
	memo *offering.Feasibilities
}

// Narrow is the part with a further requirement.
func (p Part) Narrow(r scheduling.Requirement) Part {
	p.Alternatives = p.memo.Narrow(p.Alternatives, r)
	if p.Reach != nil {
		p.Reach = p.memo.Narrow(p.Reach, r)
	}
	return p
}

// BindTo is the part bound to one domain out of several that it could use.
func (p Part) BindTo(key, value string) Part {
	if p.Reach == nil {
		p.Reach = p.Alternatives
	}
	p.Alternatives = p.memo.Narrow(p.Alternatives, scheduling.In(key, value))
	return p
}

// divideEach divides each part that has units.
func divideEach(parts []Part, divide func(Part) []Part) []Part {
	if len(parts) == 1 && len(parts[0].Units) > 0 {
		return divide(parts[0])
	}
	var result []Part
	for _, part := range parts {
		if len(part.Units) > 0 {
			result = append(result, divide(part)...)
		}
	}
	return result
}
