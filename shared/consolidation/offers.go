package consolidation

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// within gives the claim with those of its instance types that cost no more than the limit in any of the ways in which they may be bought; the error says why there is none. With
// spotToSpot it keeps the cheapest plan.MinimumSpotTypes of them, and has to have as many. With fewer, spot nodes would go from one scarce
// offering to the next. With more, EC2 could give one so dear that it would soon be replaced again.
func within(planned *plan.PlannedNodeClaim, limit float64, spotToSpot bool, p *pool) (*plan.PlannedNodeClaim, error) {
	dearest := map[string]float64{}
	for _, offering := range planned.Offerings {
		dearest[offering.InstanceType] = max(dearest[offering.InstanceType], offering.Price)
	}
	var types []string
	for _, name := range planned.InstanceTypes {
		if dearest[name] <= limit {
			types = append(types, name)
		}
	}
	least := minValues(&planned.NodeClaim)
	switch {
	case len(types) == 0:
		return nil, fmt.Errorf("no instance type is sure to cost less than the nodes that would go")
	case spotToSpot && len(types) < plan.MinimumSpotTypes:
		return nil, fmt.Errorf("spot nodes are replaced by a spot node only where it can be of %d cheaper instance types, and there are %d", plan.MinimumSpotTypes, len(types))
	case spotToSpot && len(least) == 0:
		types = types[:plan.MinimumSpotTypes]
	}
	for _, key := range slices.Sorted(maps.Keys(least)) {
		if have := p.valuesOf(key, types); have < least[key] {
			return nil, fmt.Errorf("minValues %d of %s leaves no claim that is sure to be cheaper", least[key], key)
		}
	}
	return only(planned, types), nil
}

// only gives the claim with these of its instance types. What claims of a plan share is copied.
func only(planned *plan.PlannedNodeClaim, types []string) *plan.PlannedNodeClaim {
	made := *planned
	if len(types) == len(planned.InstanceTypes) {
		return &made
	}
	made.InstanceTypes = types
	made.Offerings = nil
	for _, offering := range planned.Offerings {
		if slices.Contains(types, offering.InstanceType) {
			made.Offerings = append(made.Offerings, offering)
		}
	}
	made.PricePerHour = made.Offerings[0].Price
	made.NodeClaim.Spec.Requirements = slices.Clone(planned.NodeClaim.Spec.Requirements)
	for i := range made.NodeClaim.Spec.Requirements {
		if r := &made.NodeClaim.Spec.Requirements[i]; r.Key == corev1.LabelInstanceTypeStable && r.Operator == corev1.NodeSelectorOpIn {
			r.Values = slices.Sorted(slices.Values(types))
		}
	}
	return &made
}

// dearest is what the claim costs at most.
func dearest(planned *plan.PlannedNodeClaim) float64 {
	most := 0.0
	for _, offering := range planned.Offerings {
		most = max(most, offering.Price)
	}
	return most
}

// minValues are how many values of which labels the claim's instance types must have.
func minValues(claim *api.NodeClaim) map[string]int {
	least := map[string]int{}
	for _, r := range claim.Spec.Requirements {
		if r.MinValues != nil && *r.MinValues > 1 {
			least[r.Key] = max(least[r.Key], *r.MinValues)
		}
	}
	return least
}

// valuesOf is how many values of the label the types have.
func (p *pool) valuesOf(key string, types []string) int {
	values := map[string]bool{}
	for _, name := range types {
		if key == corev1.LabelInstanceTypeStable {
			values[name] = true
			continue
		}
		if typ := p.types[name]; typ != nil {
			have, _ := typ.Requirements[key].Values()
			for _, value := range have {
				values[value] = true
			}
		}
	}
	return len(values)
}

// offeringOf is the offering of the pool's types that a choice names.
func (p *pool) offeringOf(choice plan.Choice) (*catalog.InstanceType, *catalog.Offering) {
	typ := p.types[choice.InstanceType]
	if typ == nil {
		return nil, nil
	}
	for i := range typ.Offerings {
		o := &typ.Offerings[i]
		if o.Zone == choice.Zone && o.CapacityType == choice.CapacityType && o.ReservationID == choice.ReservationID {
			return typ, o
		}
	}
	return typ, nil
}

// labelsOf are what a node has that is launched from the claim as the choice says.
func labelsOf(planned *plan.PlannedNodeClaim, typ *catalog.InstanceType, offering *catalog.Offering) map[string]string {
	labels := map[string]string{}
	for _, r := range planned.NodeClaim.Spec.Requirements {
		if r.Operator == corev1.NodeSelectorOpIn && len(r.Values) == 1 {
			labels[scheduling.NormalizeKey(r.Key)] = r.Values[0]
		}
	}
	maps.Copy(labels, planned.NodeClaim.Labels)
	maps.Copy(labels, typ.Requirements.Labels())
	maps.Copy(labels, offering.Requirements.Labels())
	labels[corev1.LabelTopologyZone], labels[api.CapacityTypeLabelKey] = offering.Zone, offering.CapacityType
	if offering.ZoneID != "" {
		labels[api.LabelTopologyZoneID] = offering.ZoneID
	}
	if offering.ReservationID != "" {
		labels[api.LabelCapacityReservationID] = offering.ReservationID
	}
	return labels
}

// withoutReserved are the lists of instance types after one more instance of the reservation is taken. Pools that share a list go on to share one.
func withoutReserved(lists map[string][]catalog.InstanceType, id string) map[string][]catalog.InstanceType {
	made := make(map[string][]catalog.InstanceType, len(lists))
	copies := map[*catalog.InstanceType][]catalog.InstanceType{}
	for pool, list := range lists {
		if len(list) == 0 {
			continue
		}
		changed := copies[&list[0]]
		if changed == nil {
			changed = slices.Clone(list)
			for i := range changed {
				if slices.ContainsFunc(changed[i].Offerings, func(o catalog.Offering) bool { return o.ReservationID == id }) {
					changed[i].Offerings = oneLess(changed[i].Offerings, id)
				}
			}
			copies[&list[0]] = changed
		}
		made[pool] = changed
	}
	return made
}

func oneLess(offerings []catalog.Offering, id string) []catalog.Offering {
	changed := slices.Clone(offerings)
	for i := range changed {
		if o := &changed[i]; o.ReservationID == id {
			o.ReservationCapacity--
			o.Available = o.Available && o.ReservationCapacity > 0
		}
	}
	return changed
}
