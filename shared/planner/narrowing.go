package planner

import (
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Alternatives are never changed once they are made, and shapes that ask for the same share them. So it is enough to look at which they are, where their contents would
// have to be compared: what follows from them is remembered by the place in memory of the first.

// alternativesAt tells lists of alternatives apart.
type alternativesAt struct {
	first *scheduling.Requirements
	count int
}

func at(alternatives []scheduling.Requirements) alternativesAt {
	if len(alternatives) == 0 {
		return alternativesAt{}
	}
	return alternativesAt{first: &alternatives[0], count: len(alternatives)}
}

// narrowing is a list of alternatives with a further requirement, by its number.
type narrowing struct {
	alternatives alternativesAt
	requirement  int
}

// narrow is the function narrow; it gives the same list for the same alternatives.
func (s *columnSets) narrow(alternatives []scheduling.Requirements, r scheduling.Requirement) []scheduling.Requirements {
	if s == nil {
		return narrow(alternatives, r)
	}
	s.key = appendRequirement(s.key[:0], r)
	number, _ := s.requirements.of(s.key)
	key := narrowing{alternatives: at(alternatives), requirement: number}
	if known, ok := s.narrowed[key]; ok {
		return known
	}
	result := narrow(alternatives, r)
	s.narrowed[key] = result
	return result
}

// labelledAt is for which pods problem.labelledFor was asked: those without host ports.
type labelledAt struct {
	alternatives alternativesAt
	terms        *placementTerms
	avoids       bool
}

// labelValue is a label with a value.
type labelValue struct{ key, value string }

// only is scheduling.In of one value.
func (s *columnSets) only(key, value string) scheduling.Requirement {
	at := labelValue{key, value}
	r, ok := s.single[at]
	if !ok {
		r = scheduling.In(key, value)
		s.single[at] = r
	}
	return r
}
