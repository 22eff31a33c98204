package offering

import (
	"iter"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// ValueOn is the value of a custom label that the node gets where it is asked for one: one that its
// offering has, else any that is asked for. It is false where none need be, or none is found.
func (ix *Index) ValueOn(j int, r scheduling.Requirement) (string, bool) {
	if r.AllowsAbsent() {
		return "", false
	}
	column := &ix.Offerings[j]
	for _, own := range [...]scheduling.Requirements{column.Source.Requirements,
		ix.PoolTypes[column.PoolType].Type.Requirements} {
		if have, ok := own[r.Key()]; ok {
			r = r.Intersection(have)
		}
	}
	return AnyValue(r)
}

// MeetsMinValues reports whether the offerings' types offer as many values of each key as the pool
// demands. It looks at no more offerings than it takes.
func (ix *Index) MeetsMinValues(pool *Pool, columns iter.Seq[int]) bool {
	if len(pool.MinValues) == 0 {
		return true
	}
	missing := len(pool.MinValues)
	values := map[string]map[string]bool{}
	for j := range columns {
		for key, least := range pool.MinValues {
			if len(values[key]) >= least {
				continue
			}
			if values[key] == nil {
				values[key] = map[string]bool{}
			}
			for _, value := range ix.ValuesOf(pool, j, key) {
				values[key][value] = true
			}
			if len(values[key]) >= least {
				missing--
			}
		}
		if missing == 0 {
			return true
		}
	}
	return false
}

// ValuesOf are the values that a node of the offering's may have of a label.
func (ix *Index) ValuesOf(pool *Pool, j int, key string) []string {
	switch column := ix.Offerings[j]; key {
	case corev1.LabelTopologyZone:
		return ix.Feasibilities.valueList(column.Source.Zone)
	case api.LabelTopologyZoneID:
		return ix.Feasibilities.valueList(column.Source.ZoneID)
	case api.CapacityTypeLabelKey:
		return ix.Feasibilities.valueList(column.Source.CapacityType)
	default:
		have, ok := column.Source.Requirements[key]
		if !ok {
			have, ok = ix.PoolTypes[column.PoolType].Type.Requirements[key]
		}
		if own, demanded := pool.Requirements[key]; ok && demanded {
			have = have.Intersection(own)
		} else if demanded {
			have = own
		}
		values, listed := have.Values()
		if listed || !pool.IsOpen(key) {
			return values
		}
		// The claim will resolve the label to some value.
		value, _ := AnyValue(have)
		return ix.Feasibilities.valueList(value)
	}
}

// valueList is the value as a list, empty where the value is not known.
func (s *Feasibilities) valueList(value string) []string {
	if value == "" {
		return nil
	}
	list, ok := s.lists[value]
	if !ok {
		list = []string{value}
		s.lists[value] = list
	}
	return list
}

// AnyValue is a value that the requirement allows, the same each time; false if the label may as
// well be absent, or none is found.
func AnyValue(r scheduling.Requirement) (string, bool) {
	if r.AllowsAbsent() {
		return "", false
	}
	if values, ok := r.Values(); ok {
		if len(values) == 0 {
			return "", false
		}
		return values[0], true
	}
	for _, term := range r.Terms() {
		if term.Operator != api.NodeSelectorOpGte && term.Operator != api.NodeSelectorOpLte {
			continue
		}
		bound, err := strconv.ParseInt(term.Values[0], 10, 64)
		if err != nil {
			continue
		}
		// A few steps inward pass the values that are forbidden beside the bound.
		for step := range int64(100) {
			value := bound + step
			if term.Operator == api.NodeSelectorOpLte {
				value = bound - step
			}
			if text := strconv.FormatInt(value, 10); r.Has(text) {
				return text, true
			}
		}
	}
	for n := range 100 {
		if text := strings.TrimSuffix("true-"+strconv.Itoa(n), "-0"); r.Has(text) {
			return text, true
		}
	}
	return "", false
}
