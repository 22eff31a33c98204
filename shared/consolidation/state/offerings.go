package state

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/limit"
	"github.com/whittle-dev/whittle/shared/plan"
)

// priceOf is the price of the offering that the node was bought through, whether or not more of it
// can be bought now, with the extras and the risk in it. All are zero if it is not known.
func (p *Pool) priceOf(n *Node) (price, extras, risk float64) {
	if p == nil {
		return 0, 0, 0
	}
	typ := p.types[n.Label(corev1.LabelInstanceTypeStable)]
	if typ == nil {
		return 0, 0, 0
	}
	zone, capacityType := n.Label(corev1.LabelTopologyZone), n.Label(api.CapacityTypeLabelKey)
	reservation := n.Label(api.LabelCapacityReservationID)
	for i := range typ.Offerings {
		o := &typ.Offerings[i]
		if o.Zone == zone && o.CapacityType == capacityType && o.ReservationID == reservation && o.Coverage == nil &&
			!o.Unpriced {
			return o.Price, o.Extras, o.Risk
		}
	}
	return 0, 0, 0
}

// LimitPrice is what the node counts with against limits of money, or zero where there are none. A
// question to the planner may lack its instance type.
func (f *Fleet) LimitPrice(n *Node) float64 {
	if !f.limitsMoney {
		return 0
	}
	return limit.Price(n.Source, f.source.InstanceTypes)
}

// IsLimited reports whether nodes of the pool may take of a limit.
func (f *Fleet) IsLimited(p *Pool) bool {
	return len(p.API.Spec.Limits) > 0 || len(f.source.Limits) > 0
}

// limitsMoney reports whether a limit of the snapshot is one of money.
func limitsMoney(s *plan.Snapshot) bool {
	limited := func(resources corev1.ResourceList) bool { _, ok := resources[api.ResourceDollarsPerHour]; return ok }
	return slices.ContainsFunc(s.Limits, func(l plan.Limit) bool { return limited(l.Resources) }) ||
		slices.ContainsFunc(s.NodePools, func(p api.NodePool) bool { return limited(corev1.ResourceList(p.Spec.Limits)) })
}

// offeringOf is the offering that a choice names.
func (p *Pool) offeringOf(choice plan.Choice) (*catalog.InstanceType, *catalog.Offering) {
	typ := p.types[choice.InstanceType]
	if typ == nil {
		return nil, nil
	}
	for i := range typ.Offerings {
		o := &typ.Offerings[i]
		if o.Zone == choice.Zone && o.CapacityType == choice.CapacityType && o.ReservationID == choice.ReservationID &&
			o.Commitment() == choice.Commitment {
			return typ, o
		}
	}
	return typ, nil
}

// ValuesOf is how many values of the label the named instance types have.
func (p *Pool) ValuesOf(key string, types []string) int {
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

// priceStep is the ratio between the prices that TypesBelow keeps lists for.
const priceStep = 1.3

// TypesBelow are the instance types with an available offering that costs no more than the price in
// US dollars per hour, or little more. Dearer types cannot save anything.
func (f *Fleet) TypesBelow(price float64) map[string][]catalog.InstanceType {
	number := int(math.Ceil(math.Log(max(price, 1e-3)) / math.Log(priceStep)))
	if lists, known := f.below[number]; known {
		return lists
	}
	limit := math.Pow(priceStep, float64(number))
	lists := make(map[string][]catalog.InstanceType, len(f.types))
	kept := map[*catalog.InstanceType][]catalog.InstanceType{}
	isBelow := func(o catalog.Offering) bool { return o.Available && o.Price <= limit }
	for pool, list := range f.types {
		if len(list) == 0 {
			continue
		}
		short, known := kept[&list[0]]
		if !known {
			for i := range list {
				if slices.ContainsFunc(list[i].Offerings, isBelow) {
					short = append(short, list[i])
				}
			}
			kept[&list[0]] = short
		}
		lists[pool] = short
	}
	f.below[number] = lists
	return lists
}
