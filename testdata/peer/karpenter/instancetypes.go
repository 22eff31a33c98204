package karpenter

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	karpenterscheduling "sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// InstanceTypes converts instance types one to one: requirements, capacity, overhead, and offerings
// with price and availability. What Karpenter computes of a type once and keeps is computed here,
// so that no plan pays for it.
func InstanceTypes(types []catalog.InstanceType) []*cloudprovider.InstanceType {
	result := make([]*cloudprovider.InstanceType, len(types))
	for i := range types {
		result[i] = instanceType(&types[i])
		result[i].Allocatable()
	}
	return result
}

func instanceType(t *catalog.InstanceType) *cloudprovider.InstanceType {
	converted := &cloudprovider.InstanceType{
		Name: t.Name, Requirements: requirements(t.Requirements), Capacity: t.Capacity.DeepCopy(),
		Overhead: &cloudprovider.InstanceTypeOverhead{KubeReserved: overhead(t)},
	}
	// Karpenter looks at a type's offerings in turn until one will do. By zone, with on-demand first,
	// that is the first one in nearly all cases; by price, a pool that is for on-demand alone would
	// have it look at all of spot's first.
	offerings := slices.SortedFunc(slices.Values(t.Offerings), func(a, b catalog.Offering) int {
		return cmp.Or(cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.CapacityType, b.CapacityType))
	})
	for i := range offerings {
		converted.Offerings = append(converted.Offerings, offering(&offerings[i]))
	}
	return converted
}

// overhead is what of the capacity nothing may be placed on. Karpenter takes it off the capacity
// again to get at the allocatable resources.
func overhead(t *catalog.InstanceType) corev1.ResourceList {
	list := corev1.ResourceList{}
	for name, capacity := range t.Capacity {
		reserved := capacity.DeepCopy()
		reserved.Sub(t.Allocatable[name])
		if !reserved.IsZero() {
			list[name] = reserved
		}
	}
	return list
}

func offering(o *catalog.Offering) *cloudprovider.Offering {
	all := o.Requirements.Clone()
	all.Add(scheduling.In(api.CapacityTypeLabelKey, o.CapacityType), scheduling.In(corev1.LabelTopologyZone, o.Zone))
	if o.ZoneID != "" {
		all.Add(scheduling.In(api.LabelTopologyZoneID, o.ZoneID))
	}
	if o.ReservationID != "" {
		all.Add(scheduling.In(api.LabelCapacityReservationID, o.ReservationID))
	} else {
		all.Add(scheduling.DoesNotExist(api.LabelCapacityReservationID),
			scheduling.DoesNotExist(api.LabelCapacityReservationType),
			scheduling.DoesNotExist(api.LabelCapacityReservationInterruptible))
	}
	return &cloudprovider.Offering{
		Requirements:        requirements(all),
		Price:               o.Price,
		Available:           o.Available,
		ReservationCapacity: o.ReservationCapacity,
	}
}

func requirements(rs scheduling.Requirements) karpenterscheduling.Requirements {
	var terms []karpenterv1.NodeSelectorRequirementWithMinValues
	for _, key := range rs.Keys() {
		for _, term := range rs[key].Terms() {
			terms = append(
				terms,
				karpenterv1.NodeSelectorRequirementWithMinValues{
					Key:       term.Key,
					Operator:  term.Operator,
					Values:    term.Values,
					MinValues: term.MinValues,
				},
			)
		}
	}
	return karpenterscheduling.NewNodeSelectorRequirementsWithMinValues(terms...)
}
