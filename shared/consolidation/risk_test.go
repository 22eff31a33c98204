package consolidation_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/planner/plantest"
)

// risky are the types with the risk of these interruptions in their prices.
func risky(types []catalog.InstanceType, cost float64, rates map[string]float64) []catalog.InstanceType {
	return catalog.WithRisk(types, catalog.Risk{Rates: rates, Cost: &cost})
}

// TestConsolidationWithRisksComesToRest holds that risks count on both sides. Otherwise a node that
// moved to a risky spot pool would move back.
func TestConsolidationWithRisksComesToRest(t *testing.T) {
	types := someTypes(t, 8)
	moved := 0
	for seed := range plantest.Seeds(8) {
		random := rand.New(rand.NewPCG(seed, 7))
		rates := map[string]float64{}
		for i := range types {
			for _, o := range types[i].Offerings {
				if o.CapacityType == api.CapacityTypeSpot && random.IntN(2) == 0 {
					rates[types[i].Name+":"+o.Zone] = 0.001 + random.Float64()*0.2
				}
			}
		}
		s := cluster(risky(types, 0.05, rates), api.CapacityTypeSpot, api.CapacityTypeOnDemand)
		for i := range 6 {
			name := []string{"m5.4xlarge", "m5.2xlarge", "m5.large"}[i%3]
			capacityType := []string{"spot", "on-demand"}[random.IntN(2)]
			addNode(t, s, fmt.Sprintf("node-%d", i), name, capacityType, int64(1100+random.IntN(700)))
		}
		p := solve(s)
		moved += len(p.Moves)
		s = carryOut(t, s, p.Moves, fmt.Sprint(seed), now)
		// An hour later nothing has settled that would keep a node.
		for run := range 4 {
			later := now.Add(time.Duration(run+1) * time.Hour)
			again := solveAt(s, later)
			if len(again.Moves) == 0 {
				break
			}
			if run == 0 {
				t.Errorf("seed %d: a second consolidation moves again: %s", seed, asJSON(t, again.Moves))
			}
			if run == 3 {
				t.Errorf("seed %d: it does not come to rest", seed)
			}
			s = carryOut(t, s, again.Moves, fmt.Sprint(seed, "-", run), later)
		}
	}
	if moved == 0 {
		t.Error("nothing moved at all")
	}
}

// TestANodeLeavesASpotPoolWithManyInterruptions shows what is a saving on bills, and what is not.
func TestANodeLeavesASpotPoolWithManyInterruptions(t *testing.T) {
	types := someTypes(t, 1)
	s := cluster(types, api.CapacityTypeSpot)
	node := addNode(t, s, "node", "m5.large", api.CapacityTypeSpot, 1500)
	key := catalog.SpotPoolKey(node.NodeClaim.Labels)
	if key == "" {
		t.Fatal("it is no spot node")
	}
	calm := solve(s)
	s.InstanceTypes["default"] = risky(types, 1, map[string]float64{key: 0.5})
	p := solve(s)
	if p.RiskPerHour != 0.5 || p.BilledPerHour() < calm.PricePerHour-1e-9 || p.BilledPerHour() > calm.PricePerHour+1e-9 {
		t.Errorf("it costs %v with a risk of %v, and %v without", p.PricePerHour, p.RiskPerHour, calm.PricePerHour)
	}
	if len(p.Moves) != 1 || p.Moves[0].RiskSavedPerHour != 0.5 {
		t.Fatalf("the moves are %+v, the stays %+v", p.Moves, p.Stays)
	}
	m := &p.Moves[0]
	if saved := m.BilledSavingsPerHour(); saved > m.SavedPerHour-0.49 || m.BilledSavingsAtLeast() > saved+1e-9 {
		t.Errorf("of %v saved %v is on bills, at least %v", m.SavedPerHour, saved, m.BilledSavingsAtLeast())
	}
	s = carryOut(t, s, p.Moves, "calm", now)
	if again := solveAt(s, now.Add(time.Hour)); len(again.Moves) != 0 {
		t.Errorf("it moves again: %s", asJSON(t, again.Moves))
	}
}

// TestStaysNameTheRisk compares with a node's price, of which people know another part from their
// bills.
func TestStaysNameTheRisk(t *testing.T) {
	types := someTypes(t, 12)
	s := cluster(types, api.CapacityTypeSpot)
	node := addNode(t, s, "node", "m5.large", api.CapacityTypeSpot, 1500)
	s.InstanceTypes["default"] = risky(types, 0.01, map[string]float64{catalog.SpotPoolKey(node.NodeClaim.Labels): 0.01})
	stay := stayOf(t, solve(s), "node")
	if stay.RiskPerHour <= 0 || stay.RiskPerHour >= stay.PricePerHour {
		t.Errorf("it stays with %+v", stay)
	}
}
