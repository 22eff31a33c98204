package claims_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/claims"
)

// TestSort sorts short lists in many orders, with equal pools and prices among them. Sort moves
// claims in place, so the test also checks that none is lost.
func TestSort(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 1))
	for range 500 {
		var list []plan.PlannedNodeClaim
		for i := range random.IntN(8) {
			claim := plan.PlannedNodeClaim{PricePerHour: float64(random.IntN(3)), Pods: []plan.PodRef{{Name: fmt.Sprint("pod-", i)}}}
			claim.NodeClaim.GenerateName = fmt.Sprint("pool-", random.IntN(2))
			list = append(list, claim)
		}
		count := len(list)
		random.Shuffle(count, func(i, j int) { list[i], list[j] = list[j], list[i] })
		claims.Sort(list)
		names := map[string]bool{}
		for i := range list {
			names[list[i].Pods[0].Name] = true
		}
		if len(names) != count {
			t.Fatalf("%d of %d claims are left", len(names), count)
		}
		if !slices.IsSortedFunc(list, func(a, b plan.PlannedNodeClaim) int {
			return cmp.Or(strings.Compare(a.NodeClaim.GenerateName, b.NodeClaim.GenerateName),
				cmp.Compare(b.PricePerHour, a.PricePerHour), strings.Compare(a.Pods[0].Name, b.Pods[0].Name))
		}) {
			t.Fatalf("not in order: %v", list)
		}
	}
}
