package offering

import (
	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/workload"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// narrowings remembers the answers of Narrow.
type narrowings struct {
	// requirements numbers the requirements by their text.
	requirements *dense.Table
	results      map[narrowing]*workload.Alternatives
}

// narrowing identifies a question to Narrow.
type narrowing struct {
	alternatives *workload.Alternatives
	requirement  int
}

// Narrow is Alternatives.Narrow. Equal questions get the same pointer as their answer, so that
// answers about the result are found again. A nil receiver remembers nothing.
func (s *Feasibilities) Narrow(alternatives *workload.Alternatives, r scheduling.Requirement) *workload.Alternatives {
	if s == nil {
		return alternatives.Narrow(r)
	}
	s.key = workload.AppendRequirement(s.key[:0], r)
	number, _ := s.narrowings.requirements.Number(s.key)
	key := narrowing{alternatives: alternatives, requirement: number}
	if known, ok := s.narrowings.results[key]; ok {
		return known
	}
	result := alternatives.Narrow(r)
	s.narrowings.results[key] = result
	return result
}

// interned has small values that the planner needs often, each made once.
type interned struct {
	in    map[labelValue]scheduling.Requirement
	lists map[string][]string
}

type labelValue struct{ key, value string }

// In is scheduling.In of one value.
func (s *Feasibilities) In(key, value string) scheduling.Requirement {
	at := labelValue{key, value}
	r, ok := s.interned.in[at]
	if !ok {
		r = scheduling.In(key, value)
		s.interned.in[at] = r
	}
	return r
}

// listOf is a list with just the value. It is nil for an empty value, which is not known.
func (s *Feasibilities) listOf(value string) []string {
	if value == "" {
		return nil
	}
	list, ok := s.interned.lists[value]
	if !ok {
		list = []string{value}
		s.interned.lists[value] = list
	}
	return list
}
