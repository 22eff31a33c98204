package offering

import (
	"github.com/whittle-dev/whittle/shared/planner/workload"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// narrowing is a question to Narrow. The requirement is a number of Feasibilities.requirements.
type narrowing struct {
	alternatives *workload.Alternatives
	requirement  int
}

// Narrow is Alternatives.Narrow. It returns the same value for the same question, so that what
// follows from the result is memoised too. A nil receiver remembers nothing.
func (s *Feasibilities) Narrow(alternatives *workload.Alternatives, r scheduling.Requirement) *workload.Alternatives {
	if s == nil {
		return alternatives.Narrow(r)
	}
	s.key = workload.AppendRequirement(s.key[:0], r)
	number, _ := s.requirements.Number(s.key)
	key := narrowing{alternatives: alternatives, requirement: number}
	if known, ok := s.narrowed[key]; ok {
		return known
	}
	result := alternatives.Narrow(r)
	s.narrowed[key] = result
	return result
}

// termsKey is a question to LabelsFor about pods without host ports.
type termsKey struct {
	alternatives *workload.Alternatives
	terms        *workload.NodeTerms
	avoids       bool
}

// labelValue is a label with a value.
type labelValue struct{ key, value string }

// In is scheduling.In of one value, made once for each label and value.
func (s *Feasibilities) In(key, value string) scheduling.Requirement {
	at := labelValue{key, value}
	r, ok := s.single[at]
	if !ok {
		r = scheduling.In(key, value)
		s.single[at] = r
	}
	return r
}
