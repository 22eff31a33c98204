package claims

import (
	"cmp"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/plan"
)

// Sort sorts claims by NodePool, then by price, the dearest first, then by their first pods. A
// claim is a large value, so Sort orders indexes and moves each claim once.
func Sort(claims []plan.PlannedNodeClaim) {
	order := make([]int32, len(claims))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int {
		a, b := &claims[i], &claims[j]
		return cmp.Or(strings.Compare(a.NodeClaim.GenerateName, b.NodeClaim.GenerateName),
			-cmp.Compare(a.PricePerHour, b.PricePerHour), plan.CompareRefs(a.Pods[0], b.Pods[0]), cmp.Compare(i, j))
	})
	// Follow each cycle of the permutation: the freed place takes the claim that belongs there.
	for start := range order {
		if int(order[start]) == start {
			continue
		}
		first, at := claims[start], start
		for int(order[at]) != start {
			from := int(order[at])
			claims[at], order[at] = claims[from], int32(at)
			at = from
		}
		claims[at], order[at] = first, int32(at)
	}
}
