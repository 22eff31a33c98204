package offering

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// ValuesOf are the values that a node of offering j, in the pool, may have of a label. Callers must
// not change the list.
func (ix *Index) ValuesOf(pool *Pool, j int, key string) []string {
	switch o := &ix.Offerings[j]; key {
	case corev1.LabelTopologyZone:
		return ix.Feasibilities.listOf(o.Source.Zone)
	case api.LabelTopologyZoneID:
		return ix.Feasibilities.listOf(o.Source.ZoneID)
	case api.CapacityTypeLabelKey:
		return ix.Feasibilities.listOf(o.Source.CapacityType)
	default:
		have, ok := o.Source.Requirements[key]
		if !ok {
			have, ok = ix.PoolTypes[o.PoolType].Type.Requirements[key]
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
		// The NodeClaim will name this value.
		value, _ := AnyValue(have)
		return ix.Feasibilities.listOf(value)
	}
}

// ValueOn is the value that a node of offering j gets of a custom label that its pods require: one
// that the offering has, or else any that the requirement allows. It is false if the label may be
// absent, or if no value is found.
func (ix *Index) ValueOn(j int, r scheduling.Requirement) (string, bool) {
	if r.AllowsAbsent() {
		return "", false
	}
	o := &ix.Offerings[j]
	for _, own := range [...]scheduling.Requirements{o.Source.Requirements, ix.PoolTypes[o.PoolType].Type.Requirements} {
		if have, ok := own[r.Key()]; ok {
			r = r.Intersection(have)
		}
	}
	return AnyValue(r)
}

// AnyValue is a value that the requirement allows, and always the same one. It is false if the
// label may be absent, or if no value is found.
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
		// Other terms may forbid the bound and a few values beside it.
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
	// The values are true, true-1, true-2 and so on.
	for n := range 100 {
		if text := strings.TrimSuffix("true-"+strconv.Itoa(n), "-0"); r.Has(text) {
			return text, true
		}
	}
	return "", false
}
