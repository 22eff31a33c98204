package limit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Limit bounds what its nodes take together.
type Limit struct {
	// Pool is the NodePool whose spec.limits these are. It is empty for limits of other owners.
	Pool string
	// Resources are the greatest amounts.
	Resources corev1.ResourceList
	// kind and name are those of plan.Limit, and empty for a NodePool.
	kind, name string
	// selector has what the labels of nodes must allow. Nodes of all labels count if it is empty.
	selector scheduling.Requirements
}

// Of are the limits of the NodePools, in their order, and then those that span them, by kind and
// name. A limit whose selector cannot be read is left out: see Selector.
func Of(pools []*api.NodePool, spanning []plan.Limit) []*Limit {
	var limits []*Limit
	for _, pool := range pools {
		if len(pool.Spec.Limits) > 0 {
			limits = append(limits, &Limit{Pool: pool.Name, Resources: corev1.ResourceList(pool.Spec.Limits)})
		}
	}
	spanning = slices.SortedFunc(slices.Values(spanning), func(a, b plan.Limit) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
	})
	for i := range spanning {
		if selector, err := Selector(spanning[i].Selector); err == nil && len(spanning[i].Resources) > 0 {
			limits = append(limits, &Limit{
				Resources: spanning[i].Resources, kind: spanning[i].Kind, name: spanning[i].Name, selector: selector,
			})
		}
	}
	return limits
}

// OfCluster is the limit of the setting maxDollarsPerHour.
func OfCluster(dollars float64) plan.Limit {
	most := *resource.NewScaledQuantity(int64(math.Round(min(float64(dollars*1e6), 1<<53))), resource.Micro)
	return plan.Limit{
		Kind: plan.LimitOfSetting, Name: "maxDollarsPerHour",
		Resources: corev1.ResourceList{api.ResourceDollarsPerHour: most},
	}
}

// Selector is a label selector as requirements. It is empty for a selector of all nodes.
func Selector(selector *metav1.LabelSelector) (scheduling.Requirements, error) {
	if selector == nil {
		return nil, nil
	}
	requirements := scheduling.FromLabels(selector.MatchLabels)
	for _, e := range selector.MatchExpressions {
		r, err := scheduling.ParseRequirement(e.Key, corev1.NodeSelectorOperator(e.Operator), e.Values...)
		if err != nil {
			return nil, fmt.Errorf("spec.selector.matchExpressions: %w", err)
		}
		requirements.Add(r)
	}
	return requirements, nil
}

// Owner is whose limit it is, as the end of "limit of cpu 4": empty for a NodePool, of which every
// reason speaks anyway.
func (l *Limit) Owner() string {
	switch l.kind {
	case "":
		return ""
	case plan.LimitOfSetting:
		return " of the setting " + l.name
	}
	return fmt.Sprintf(" of %s %q", strings.ToLower(l.kind), l.name)
}

// Subject is the kind and the name of the object whose limit it is, or plan.LimitOfSetting and the
// setting's name.
func (l *Limit) Subject() (kind, name string) {
	if l.Pool != "" {
		return api.NodePoolKind, l.Pool
	}
	return l.kind, l.name
}

// Remedy is what a person changes for a greater limit.
func (l *Limit) Remedy() string {
	switch l.kind {
	case "":
		return "raise spec.limits"
	case plan.LimitOfSetting:
		return "raise the setting"
	}
	return "raise spec.limits.resources of the " + strings.ToLower(l.kind)
}

// Keys are the labels that decide which nodes count, sorted.
func (l *Limit) Keys() []string { return l.selector.Keys() }

// Wants is what the selector wants of a label, and whether it wants anything.
func (l *Limit) Wants(key string) (scheduling.Requirement, bool) {
	r, ok := l.selector[key]
	return r, ok
}

// MayCount reports whether new nodes of a NodePool may count, whose labels are within the
// requirements. The labels that an instance type and its offering decide do not matter.
func (l *Limit) MayCount(pool string, requirements scheduling.Requirements) bool {
	if l.Pool != "" {
		return l.Pool == pool
	}
	for key, want := range l.selector {
		if have, ok := requirements[key]; ok && !have.Intersects(want) {
			return false
		}
	}
	return true
}

// CountsType reports whether new nodes of the instance type may count, of a NodePool of which they
// may. Each label must be one that the pool, the type or its offerings decide, or may be absent.
func (l *Limit) CountsType(typ *catalog.InstanceType, requirements scheduling.Requirements) bool {
	for key, want := range l.selector {
		have, ofType := typ.Requirements[key]
		own, ofPool := requirements[key]
		switch {
		case isOfferingKey(key):
		case ofType && ofPool && !have.Intersects(want.Intersection(own)), ofType && !have.Intersects(want):
			return false
		case !ofType && !ofPool && !want.AllowsAbsent() && !isOfNewNode(key, want) && !offersLabel(typ, key):
			return false
		}
	}
	return true
}

// CountsOffering reports whether new nodes of the offering may count, of a type of which they may.
func (l *Limit) CountsOffering(o *catalog.Offering) bool {
	want, ok := l.selector[api.LabelCapacityReservationID]
	return o.AllowedBy(l.selector) && (!ok || o.ReservationID != "" || want.AllowsAbsent())
}

// DividesOfferings reports whether offerings of one instance type may differ in what they take.
func (l *Limit) DividesOfferings(typ *catalog.InstanceType) bool {
	for key := range l.selector {
		if isOfferingKey(key) || offersLabel(typ, key) {
			return true
		}
	}
	return false
}

// isOfferingKey reports whether the offering decides the label.
func isOfferingKey(key string) bool {
	return key == corev1.LabelTopologyZone || key == api.LabelTopologyZoneID || key == api.CapacityTypeLabelKey ||
		key == api.LabelCapacityReservationID
}

// isOfNewNode reports whether each node has a wanted value of the label once it is ready.
func isOfNewNode(key string, want scheduling.Requirement) bool {
	return (key == api.NodeRegisteredLabelKey || key == api.NodeInitializedLabelKey) && want.Has("true")
}

// offersLabel reports whether an offering of the type has the label.
func offersLabel(typ *catalog.InstanceType, key string) bool {
	return slices.ContainsFunc(typ.Offerings, func(o catalog.Offering) bool { _, ok := o.Requirements[key]; return ok })
}
