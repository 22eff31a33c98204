package offering

import (
	"github.com/whittle-dev/whittle/shared/planner/workload"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Alternatives are never changed once they are made, and shapes that ask for the same share them. So it is enough to look at which they are, where their contents would
// have to be compared: what follows from them is remembered by the place in memory of the first.

// AlternativesID tells lists of alternatives apart.
type AlternativesID struct {
	first *scheduling.Requirements
	count int
}

func IDOf(alternatives []scheduling.Requirements) AlternativesID {
	if len(alternatives) == 0 {
		return AlternativesID{}
	}
	return AlternativesID{first: &alternatives[0], count: len(alternatives)}
}

// narrowing is a list of alternatives with a further requirement, by its number.
type narrowing struct {
	alternatives AlternativesID
	requirement  int
}

// Narrow is the function narrow; it gives the same list for the same alternatives.
func (s *Feasibilities) Narrow(alternatives []scheduling.Requirements, r scheduling.Requirement) []scheduling.Requirements {
	if s == nil {
		return workload.Narrow(alternatives, r)
	}
	s.key = workload.AppendRequirement(s.key[:0], r)
	number, _ := s.requirements.Number(s.key)
	key := narrowing{alternatives: IDOf(alternatives), requirement: number}
	if known, ok := s.narrowed[key]; ok {
		return known
	}
	result := workload.Narrow(alternatives, r)
	s.narrowed[key] = result
	return result
}

// termsKey is for which pods problem.labelledFor was asked: those without host ports.
type termsKey struct {
	alternatives AlternativesID
	terms        *workload.NodeTerms
	avoids       bool
}

// labelValue is a label with a value.
type labelValue struct{ key, value string }

// In is scheduling.In of one value.
func (s *Feasibilities) In(key, value string) scheduling.Requirement {
	at := labelValue{key, value}
	r, ok := s.single[at]
	if !ok {
		r = scheduling.In(key, value)
		s.single[at] = r
	}
	return r
}
