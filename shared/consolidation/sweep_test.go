package consolidation_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/consolidation/consolidationtest"
	"github.com/whittle-dev/whittle/shared/plan"
)

// TestLargeFleetsSaveMostFirst carries out plans for fleets that are large enough to be swept. Each
// move is right and no dearer on the cluster after those before it. The first plan's part of all
// savings is larger than its part of all moved pods. The order of the input does not count, and the
// fleet comes to rest.
func TestLargeFleetsSaveMostFirst(t *testing.T) {
	types := someTypes(t, 12)
	for _, fleet := range fleets() {
		t.Run(fleet.Name, func(t *testing.T) {
			t.Parallel()
			s := fleet.Make(220, types)
			random := rand.New(rand.NewPCG(5, 6))
			within(t, s, 22)
			var prices []float64
			var moved []int
			at := now
			for run := 0; ; run++ {
				if run == 15 {
					t.Fatal("it does not come to rest")
				}
				p := consolidation.Solve(&consolidation.Input{Cluster: s, Now: at})
				if run == 0 || len(p.Moves) == 0 {
					other := consolidation.Solve(&consolidation.Input{Cluster: shuffled(s, random), Now: at})
					if asJSON(t, p) != asJSON(t, other) {
						t.Fatalf("run %d: another order of the input gives another plan", run)
					}
				}
				prices = append(prices, consolidationtest.Price(s))
				if len(p.Moves) == 0 {
					break
				}
				pods := 0
				for i := range p.Moves {
					pods += p.Moves[i].PodsMoved
				}
				moved = append(moved, pods)
				s = carryOut(t, s, p.Moves, fmt.Sprint(run), at)
				at = at.Add(time.Hour)
			}
			all := 0
			for _, pods := range moved {
				all += pods
			}
			saves, moves := (prices[0]-prices[1])/(prices[0]-prices[len(prices)-1]), float64(moved[0])/float64(all)
			if saves < moves+0.1 {
				t.Errorf("the first look saves %.2f of all and moves %.2f of the pods", saves, moves)
			}
		})
	}
}

// within plans with a budget, and checks that it holds.
func within(t *testing.T, s *plan.Snapshot, budget int) {
	t.Helper()
	allowed := map[string]consolidation.Allowance{"default": {Empty: budget, Underutilized: budget}}
	p := consolidation.Solve(&consolidation.Input{Cluster: s, Allowed: allowed, Now: now})
	gone := 0
	for i := range p.Moves {
		gone += len(p.Moves[i].Delete)
	}
	if gone == 0 || gone > budget {
		t.Errorf("%d nodes go, the budget allows %d", gone, budget)
	}
	carryOut(t, s, p.Moves, "within", now)
}
