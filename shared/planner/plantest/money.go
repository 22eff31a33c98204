package plantest

import (
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
)

// dollars is a price as an amount: billionths of a dollar.
func dollars(price float64) int64 { return int64(math.Round(price * 1e9)) }

// takes returns what a node of the variant takes of limits. A commitment changes nothing.
func (c *checker) takes(v *variant) amounts {
	taken := maps.Clone(c.labelsOf(v.instanceType).capacity)
	price := v.offering.Price - v.offering.Risk
	for i := range v.instanceType.Offerings {
		o := &v.instanceType.Offerings[i]
		if v.offering.Coverage != nil && o.Coverage == nil && o.Zone == v.offering.Zone &&
			o.CapacityType == v.offering.CapacityType {
			price = o.Price - o.Risk
		}
	}
	taken[api.ResourceNodes], taken[api.ResourceDollarsPerHour] = 1, dollars(price)
	return taken
}

// priceOf returns what a node that exists or is in flight counts with against limits of money: the
// greatest list price among the offerings that its claim allows.
func (c *checker) priceOf(claim *api.NodeClaim) int64 {
	if claim == nil {
		return 0
	}
	most, available := int64(0), int64(0)
	named := false
	pools := append([]string{claim.Labels[api.NodePoolLabelKey]}, slices.Sorted(maps.Keys(c.snapshot.InstanceTypes))...)
	for _, name := range pools {
		for i := range c.snapshot.InstanceTypes[name] {
			t := &c.snapshot.InstanceTypes[name][i]
			if !allowsLabel(claim, corev1.LabelInstanceTypeStable, t.Name, false) {
				continue
			}
			named = true
			for j := range t.Offerings {
				o := &t.Offerings[j]
				if o.Coverage != nil || o.Unpriced || !claimAllows(claim, o) {
					continue
				}
				if most = max(most, dollars(o.Price-o.Risk)); o.Available {
					available = max(available, dollars(o.Price-o.Risk))
				}
			}
		}
		if named {
			break
		}
	}
	if available > 0 && claim.Status.ProviderID == "" {
		return available
	}
	return most
}

// claimAllows reports whether a claim's node may be bought through the offering.
func claimAllows(claim *api.NodeClaim, o *catalog.Offering) bool {
	for key, value := range map[string]string{
		corev1.LabelTopologyZone: o.Zone, api.LabelTopologyZoneID: o.ZoneID, api.CapacityTypeLabelKey: o.CapacityType,
		api.LabelCapacityReservationID: o.ReservationID,
	} {
		if value != "" && !allowsLabel(claim, key, value, true) {
			return false
		}
	}
	return true
}

// allowsLabel reports whether the claim allows the value of a label. open is the answer for a label
// of which it says nothing.
func allowsLabel(claim *api.NodeClaim, key, value string, open bool) bool {
	if own, ok := claim.Labels[key]; ok {
		return own == value
	}
	said := false
	for _, r := range claim.Spec.Requirements {
		if r.Key == key {
			if said = true; !(labelSet{{key: value}}).holds(key, r.Operator, r.Values) {
				return false
			}
		}
	}
	return said || open
}

// spans reports whether a limit of the snapshot counts a node with these labels. possible has the
// terms of labels that a node in flight may still get.
func spans(l *plan.Limit, labels labelSet, possible []api.NodeSelectorRequirementWithMinValues) bool {
	if l.Selector == nil {
		return true
	}
	holds := func(key string, operator corev1.NodeSelectorOperator, values []string) bool {
		if _, known := labels.get(key); !known {
			for _, r := range possible {
				if r.Key == key && r.Operator == corev1.NodeSelectorOpIn {
					return slices.ContainsFunc(r.Values, func(value string) bool {
						return (labelSet{{key: value}}).holds(key, operator, values)
					})
				}
			}
		}
		return labels.holds(key, operator, values)
	}
	for key, value := range l.Selector.MatchLabels {
		if !holds(key, corev1.NodeSelectorOpIn, []string{value}) {
			return false
		}
	}
	for _, e := range l.Selector.MatchExpressions {
		if !holds(e.Key, corev1.NodeSelectorOperator(e.Operator), e.Values) {
			return false
		}
	}
	return true
}

// spanningUse returns what nodes have of a limit of the snapshot, and the most that planned ones
// may take.
func (c *checker) spanningUse(l *plan.Limit) (used, planned amounts) {
	used, planned = amounts{}, amounts{}
	for i := range c.snapshot.Nodes {
		n := &c.snapshot.Nodes[i]
		if isLeaving(n) || l.Kind == plan.LimitOfSetting && poolOf(n) == "" {
			continue
		}
		labels, possible := labelSet{}, []api.NodeSelectorRequirementWithMinValues(nil)
		if n.NodeClaim != nil {
			labels, possible = labelSet{n.NodeClaim.Labels}, n.NodeClaim.Spec.Requirements
		}
		if n.Node != nil {
			labels = append(labels, n.Node.Labels)
		}
		if spans(l, labels, possible) {
			used.add(c.usedByNode(n))
		}
	}
	for _, h := range c.hosts[len(c.snapshot.Nodes):] {
		most := amounts{}
		for i := range h.planned.variants {
			if v := &h.planned.variants[i]; spans(l, v.labels, nil) {
				for name, amount := range c.takes(v) {
					most[name] = max(most[name], amount)
				}
			}
		}
		planned.add(most)
	}
	return used, planned
}

// checkSpanning reports a limit of the snapshot that nodes may exceed.
func (c *checker) checkSpanning() {
	for i := range c.snapshot.Limits {
		l := &c.snapshot.Limits[i]
		used, planned := c.spanningUse(l)
		for name, most := range amountsOf(l.Resources) {
			if planned[name] > 0 && used[name]+planned[name] > most {
				c.report("limits", "%s %s has %d of %s and may get %d, its limit is %d",
					l.Kind, l.Name, used[name], name, planned[name], most)
			}
		}
	}
}

// spanningRoom reports whether the limits of the snapshot have room for a node of the variant.
func (c *checker) spanningRoom(v *variant) bool {
	if c.spanningLeft == nil {
		for i := range c.snapshot.Limits {
			l := &c.snapshot.Limits[i]
			left := amountsOf(l.Resources)
			used, planned := c.spanningUse(l)
			for name := range left {
				left[name] -= used[name] + planned[name]
			}
			c.spanningLeft = append(c.spanningLeft, left)
		}
	}
	for i, left := range c.spanningLeft {
		if spans(&c.snapshot.Limits[i], v.labels, nil) && !roomFor(left, c.takes(v)) {
			return false
		}
	}
	return true
}

// hasRoom reports whether what is left of a pool's limits, and of those of the snapshot, is enough
// for a node of the variant.
func (c *checker) hasRoom(left amounts, v *variant) bool {
	return (len(left) == 0 || roomFor(left, c.takes(v))) && c.spanningRoom(v)
}
