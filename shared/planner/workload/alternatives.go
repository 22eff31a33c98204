package workload

import (
	"strings"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Alternatives are label requirements of which a node has to meet one. They never change once they
// are made, and pod groups that ask for the same share them. So a pointer identifies them, and
// memoised results are looked up by pointer instead of by content. Nil allows no node.
type Alternatives struct {
	list []scheduling.Requirements
}

// NewAlternatives returns the list as Alternatives, nil for an empty list. The caller must not
// change the list afterwards.
func NewAlternatives(list []scheduling.Requirements) *Alternatives {
	if len(list) == 0 {
		return nil
	}
	return &Alternatives{list: list}
}

// List is the list of requirements. Callers must not change it.
func (a *Alternatives) List() []scheduling.Requirements {
	if a == nil {
		return nil
	}
	return a.list
}

// Len is the number of alternatives.
func (a *Alternatives) Len() int { return len(a.List()) }

// Narrow adds a requirement to each alternative, and leaves out those that then allow no value of
// its label.
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

// SingleValue is the one value of the key that all alternatives require, and false if there is
// none.
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

// Combine returns the requirements that meet one of each list.
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

// mergeInto adds further requirements, and reports whether each label still allows a value.
func mergeInto(requirements, further scheduling.Requirements) bool {
	requirements.Merge(further)
	for key := range further {
		if requirements[key].Empty() {
			return false
		}
	}
	return true
}

func alternativesText(alternatives []scheduling.Requirements) string {
	texts := make([]string, len(alternatives))
	for i, a := range alternatives {
		texts[i] = a.String()
	}
	return strings.Join(texts, ", or ")
}
