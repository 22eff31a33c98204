package bill

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/commitment"
	"github.com/whittle-dev/whittle/shared/planning"
)

// Result are the bills of one month, in dollars.
type Result struct {
	// Paid is what the account pays for commitments and instances. ListPrices is the same where
	// plans do not know of commitments. Ideal is that of a planner who plans all pods anew each
	// hour. Bound is the proven least.
	Paid, ListPrices, Ideal, Bound float64
	// Committed is the price of what was committed, Used the part that was used, and Usable what
	// the ideal uses.
	Committed, Used, Usable float64
	// Evicted counts the pods that consolidation has moved, EvictedByList those without commitments
	// in plans.
	Evicted, EvictedByList int
}

// Month lives through the month of a seed, at each so many hours.
func Month(t testing.TB, seed uint64, every int) (Result, error) {
	m := newMonth(t, seed)
	knows, blind := &cluster{month: m}, &cluster{month: m, blind: true}
	var r Result
	for hour := 0; hour < days*24; hour += every {
		for _, c := range []*cluster{knows, blind} {
			if err := c.live(hour); err != nil {
				return r, err
			}
		}
		hours := float64(every)
		bill, stocks := knows.bill(hour)
		r.Paid += hours * bill
		byList, _ := blind.bill(hour)
		r.ListPrices += hours * byList
		ideal, bound, usable, err := m.ideal(hour, knows.pods())
		if err != nil {
			return r, err
		}
		r.Ideal += hours * ideal
		r.Bound += hours * bound
		for i := range stocks {
			r.Committed += hours * stocks[i].PerHour
			r.Used += hours * used(&stocks[i])
		}
		for i := range usable {
			r.Usable += hours * used(&usable[i])
		}
	}
	r.Evicted, r.EvictedByList = knows.evicted, blind.evicted
	return r, nil
}

// used is the price of the part of a commitment that is used.
func used(s *commitment.Stock) float64 { return s.PerHour * float64(s.Used) / float64(max(s.Total, 1)) }

// bill is what the account pays in an hour.
func (c *cluster) bill(hour int) (float64, []commitment.Stock) {
	instances := c.instances(hour)
	applied := commitment.Apply(c.facts, instances, c.at(hour))
	total := 0.0
	for i := range applied.Stocks {
		total += applied.Stocks[i].PerHour
	}
	for i := range instances {
		total += c.onDemand[instances[i].Type] * (1 - applied.Covered[instances[i].ID])
	}
	for i := range c.nodes {
		if labels := c.nodes[i].NodeClaim.Labels; labels[api.CapacityTypeLabelKey] == api.CapacityTypeSpot {
			total += c.spot(labels)
		}
	}
	return total, applied.Stocks
}

// spot is the spot price of the labels' offering.
func (m *month) spot(labels map[string]string) float64 {
	for _, typ := range m.priced {
		if typ.Name != labels[corev1.LabelInstanceTypeStable] {
			continue
		}
		for i := range typ.Offerings {
			o := &typ.Offerings[i]
			if o.CapacityType == api.CapacityTypeSpot && o.Zone == labels[corev1.LabelTopologyZone] {
				return o.Price
			}
		}
	}
	return 0
}

func (c *cluster) pods() []corev1.Pod {
	var pods []corev1.Pod
	for i := range c.nodes {
		for j := range c.nodes[i].Pods {
			pod := c.nodes[i].Pods[j]
			wait(&pod)
			pods = append(pods, pod)
		}
	}
	return pods
}

// ideal is the bill of an hour whose pods are planned anew, and the proven least.
func (m *month) ideal(hour int, pods []corev1.Pod) (bill, bound float64, stocks []commitment.Stock, err error) {
	c := &cluster{month: m}
	outside, _ := c.bill(hour)
	s := c.snapshot(hour, pods)
	bound = outside + planning.Solve(s).LowerBoundPerHour
	if err := c.provision(hour, pods); err != nil {
		return 0, 0, nil, err
	}
	bill, stocks = c.bill(hour)
	return bill, bound, stocks, nil
}
