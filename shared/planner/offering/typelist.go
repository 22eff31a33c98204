package offering

import (
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// typeList are the instance types of a pool; pools with the same list in the snapshot share it.
type typeList struct {
	source []catalog.InstanceType
	// all are sorted by name.
	all []*catalog.InstanceType
	// facts are what is known of label keys, by key.
	facts map[string]labelFacts
}

// labelFacts are what the types of a list say of a label.
type labelFacts struct {
	// known says that some type mentions it, offered that an offering of one does, several that one of
	// them allows several values.
	known, offered, several bool
}

// typesOfPool are the pool's instance types, by name whatever order the snapshot has them in.
func (ix *Index) typesOfPool(name string) *typeList {
	if list, ok := ix.types[name]; ok {
		return list
	}
	source := ix.Work.Snapshot.InstanceTypes[name]
	for _, list := range ix.types {
		if len(source) > 0 && len(list.source) == len(source) && &list.source[0] == &source[0] {
			ix.types[name] = list
			return list
		}
	}
	list := &typeList{source: source, all: make([]*catalog.InstanceType, len(source)), facts: map[string]labelFacts{}}
	for i := range source {
		list.all[i] = &source[i]
	}
	if !slices.IsSortedFunc(list.all, compareTypes) {
		slices.SortStableFunc(list.all, compareTypes)
	}
	ix.types[name] = list
	return list
}

func compareTypes(a, b *catalog.InstanceType) int {
	if c := strings.Compare(a.Name, b.Name); c != 0 {
		return c
	}
	// A name may stand for one type with each operating system.
	return strings.Compare(a.Requirements.String(), b.Requirements.String())
}

// factsOf are read once for each key that anything asks for: types have some forty labels, and
// hardly one of them matters to a plan.
func (l *typeList) factsOf(key string) labelFacts {
	if facts, ok := l.facts[key]; ok {
		return facts
	}
	var facts labelFacts
	several := func(r scheduling.Requirement) bool {
		values, list := r.Values()
		return !list || len(values) > 1
	}
	for _, typ := range l.all {
		if r, ok := typ.Requirements[key]; ok {
			facts.known = true
			facts.several = facts.several || several(r)
		}
		for i := range typ.Offerings {
			if requirements := typ.Offerings[i].Requirements; len(requirements) > 0 {
				if r, ok := requirements[key]; ok {
					facts.offered = true
					facts.several = facts.several || several(r)
				}
			}
		}
	}
	l.facts[key] = facts
	return facts
}

// decide reports whether an offering decides the label: its offering does, or each type has one
// value of it or none.
func (l *typeList) decide(key string) bool {
	if IsOfferingKey(key) {
		return true
	}
	facts := l.factsOf(key)
	return (facts.known || facts.offered) && !facts.several
}

// IsOpen reports whether neither the pool nor the instance type decides the label's value: the
// first pod that cares decides it.
func (p *Pool) IsOpen(key string) bool {
	if r, ok := p.Requirements[key]; ok {
		_, single := r.Single()
		return !single && !p.types.decide(key)
	}
	return p.types.factsOf(key).known && !p.types.decide(key)
}
