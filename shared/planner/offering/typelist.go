package offering

import (
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// typeLists has the instance types of each NodePool, by its name.
type typeLists map[string]*typeList

// typeList has the instance types of a NodePool. Pools that share a list in the snapshot share this
// one too.
type typeList struct {
	source []catalog.InstanceType
	// all are sorted by name.
	all []*catalog.InstanceType
	// labels remembers what the types say of a label, by its key.
	labels map[string]typeLabel
}

// typeLabel is what the types of a list say of a label.
type typeLabel struct {
	// ofType says that a type mentions the label, and ofOffering that an offering of a type does.
	ofType, ofOffering bool
	// several says that a type or offering allows several values of it.
	several bool
}

// typesOfPool has the pool's instance types, in an order that does not depend on the snapshot's.
func (ix *Index) typesOfPool(name string) *typeList {
	if list, ok := ix.typeLists[name]; ok {
		return list
	}
	source := ix.Work.Snapshot.InstanceTypes[name]
	for _, list := range ix.typeLists {
		if len(source) > 0 && len(list.source) == len(source) && &list.source[0] == &source[0] {
			ix.typeLists[name] = list
			return list
		}
	}
	list := &typeList{source: source, all: make([]*catalog.InstanceType, len(source)), labels: map[string]typeLabel{}}
	for i := range source {
		list.all[i] = &source[i]
	}
	if !slices.IsSortedFunc(list.all, compareTypes) {
		slices.SortStableFunc(list.all, compareTypes)
	}
	ix.typeLists[name] = list
	return list
}

// compareTypes orders by name. Several types have the same name where each is for one operating
// system.
func compareTypes(a, b *catalog.InstanceType) int {
	if c := strings.Compare(a.Name, b.Name); c != 0 {
		return c
	}
	return strings.Compare(a.Requirements.String(), b.Requirements.String())
}

// label is what the types say of a label. Types have about forty labels and plans ask for few of
// them, so it reads a label only when a plan asks for it.
func (l *typeList) label(key string) typeLabel {
	if known, ok := l.labels[key]; ok {
		return known
	}
	var label typeLabel
	several := func(r scheduling.Requirement) bool {
		values, list := r.Values()
		return !list || len(values) > 1
	}
	for _, typ := range l.all {
		if r, ok := typ.Requirements[key]; ok {
			label.ofType = true
			label.several = label.several || several(r)
		}
		for i := range typ.Offerings {
			if requirements := typ.Offerings[i].Requirements; len(requirements) > 0 {
				if r, ok := requirements[key]; ok {
					label.ofOffering = true
					label.several = label.several || several(r)
				}
			}
		}
	}
	l.labels[key] = label
	return label
}

// decide reports whether an offering decides the label: each type and offering that mentions it
// allows one value.
func (l *typeList) decide(key string) bool {
	if IsOfferingKey(key) {
		return true
	}
	label := l.label(key)
	return (label.ofType || label.ofOffering) && !label.several
}
