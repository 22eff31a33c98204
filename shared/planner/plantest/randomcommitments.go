package plantest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
)

// WithCommitments adds one to three commitments to the snapshot, by the seed, and returns it. The first covers each
// on-demand offering by its price, as a Savings Plan does. The others cover some types by their processors, as a
// Reserved Instance does. They pay for none, some or all of a plan.
func WithCommitments(s *plan.Snapshot, seed uint64) *plan.Snapshot {
	random := rand.New(rand.NewPCG(seed, 0x636f6d6d6974))
	for n := range 1 + random.IntN(3) {
		id, savings := fmt.Sprintf("commitment-%d", n), n == 0
		left, part := random.IntN(60), random.IntN(4)
		for i := range s.NodePools {
			types := s.InstanceTypes[s.NodePools[i].Name]
			for j := range types {
				if t := &types[j]; (savings || nameSum(t.Name)%4 == part) && !isCovered(t, id) {
					t.Offerings = append(t.Offerings, covered(t, id, left, savings)...)
					slices.SortStableFunc(t.Offerings, func(a, b catalog.Offering) int { return cmp.Compare(a.Price, b.Price) })
				}
			}
		}
	}
	return s
}

// nameSum is a number that depends on the name alone.
func nameSum(name string) int {
	sum := 0
	for _, b := range []byte(name) {
		sum += int(b)
	}
	return sum
}

// isCovered reports whether the commitment pays for the type already. NodePools share their lists of types.
func isCovered(t *catalog.InstanceType, id string) bool {
	return slices.ContainsFunc(t.Offerings, func(o catalog.Offering) bool { return o.Commitment() == id })
}

// covered are the on-demand offerings of the type as the commitment pays for them.
func covered(t *catalog.InstanceType, id string, left int, savings bool) []catalog.Offering {
	var offerings []catalog.Offering
	for _, o := range t.Offerings {
		if o.CapacityType != api.CapacityTypeOnDemand || o.Coverage != nil {
			continue
		}
		units := int(t.Capacity.Cpu().Value())
		if savings {
			units = int(o.Price * 100)
		}
		o.Coverage = &catalog.Coverage{Commitment: id, Units: max(units, 1), Left: left}
		o.Price = o.Extras + (o.Price-o.Extras)/1e7
		offerings = append(offerings, o)
	}
	return offerings
}
