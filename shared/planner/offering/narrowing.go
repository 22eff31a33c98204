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
func (f *Feasibilities) Narrow(alternatives *workload.Alternatives, r scheduling.Requirement) *workload.Alternatives {
	if f == nil {
		return alternatives.Narrow(r)
	}
	f.key = workload.AppendRequirement(f.key[:0], r)
	number, _ := f.requirements.Number(f.key)
	key := narrowing{alternatives: alternatives, requirement: number}
	if known, ok := f.narrowed[key]; ok {
		return known
	}
	result := alternatives.Narrow(r)
	f.narrowed[key] = result
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
func (f *Feasibilities) In(key, value string) scheduling.Requirement {
	at := labelValue{key, value}
	r, ok := f.single[at]
	if !ok {
		r = scheduling.In(key, value)
		f.single[at] = r
	}
	return r
}
