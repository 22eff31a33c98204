package workload

import (
	"strings"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Alternatives are label requirements, of which a node has to meet one. They never change. Pod
// groups with equal requirements share one value, so a pointer identifies it and later stages
// memoise by pointer. Nil allows no node.
type Alternatives struct {
	list []scheduling.Requirements
}

// NewAlternatives returns the list as Alternatives, or nil for an empty list. The caller must not
// change the list afterwards.
func NewAlternatives(list []scheduling.Requirements) *Alternatives {
	if len(list) == 0 {
		return nil
	}
	return &Alternatives{list: list}
}

// List returns the alternatives. Callers must not change the list.
func (a *Alternatives) List() []scheduling.Requirements {
	if a == nil {
		return nil
	}
	return a.list
}

// Len is the number of alternatives.
func (a *Alternatives) Len() int { return len(a.List()) }

// Narrow returns the alternatives with a further requirement. It leaves out those that then allow
// no value of the requirement's label.
func (a *Alternatives) Narrow(r scheduling.Requirement) *Alternatives {
	var result []scheduling.Requirements
	for _, alternative := range a.List() {
		if have, ok := alternative[r.Key()]; ok && !have.Intersects(r) {
			continue
		}
		narrowed := alternative.Clone()
		narrowed.Add(r)
		result = append(result, narrowed)
	}
	return NewAlternatives(result)
}

// SingleValue returns the value of the label if all alternatives require the same one. Otherwise it
// returns false.
func (a *Alternatives) SingleValue(key string) (string, bool) {
	result := ""
	for i, alternative := range a.List() {
		value, ok := alternative[key].Single()
		if !ok || i > 0 && value != result {
			return "", false
		}
		result = value
	}
	return result, result != ""
}

// Combine returns alternatives for nodes that meet one of a and one of b: each pair that does not
// contradict itself.
func Combine(a, b []scheduling.Requirements) *Alternatives {
	var result []scheduling.Requirements
	for _, x := range a {
		for _, y := range b {
			if both := x.Clone(); mergeInto(both, y) {
				result = append(result, both)
			}
		}
	}
	return NewAlternatives(result)
}

// mergeInto adds further requirements. It reports whether each of their labels still allows a
// value.
func mergeInto(requirements, further scheduling.Requirements) bool {
	requirements.Merge(further)
	for key := range further {
		if requirements[key].Empty() {
			return false
		}
	}
	return true
}

// alternativesText lists alternatives for people.
func alternativesText(alternatives []scheduling.Requirements) string {
	texts := make([]string, len(alternatives))
	for i, a := range alternatives {
		texts[i] = a.String()
	}
	return strings.Join(texts, ", or ")
}
