package commitment_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/whittle-dev/whittle/shared/commitment"
)

// TestUsesAddUpToTheCommitments shares random commitments among random instances. The parts of each
// add up to what it costs, and the instances' costs to what is used.
func TestUsesAddUpToTheCommitments(t *testing.T) {
	sizes := []string{"m5.large", "m5.xlarge", "c5.large", "c5.2xlarge", "r5.large"}
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		facts := commitment.Facts{OnDemand: map[string]float64{}}
		rates := map[string]float64{}
		for _, name := range sizes {
			facts.OnDemand[name] = 0.05 + random.Float64()
			rates[name] = facts.OnDemand[name] * (0.5 + random.Float64()/2)
		}
		for n := range random.IntN(4) {
			facts.Reserved = append(facts.Reserved, held(commitment.ReservedInstance{
				ID: fmt.Sprint("r", n), InstanceType: sizes[random.IntN(len(sizes))], Count: 1 + random.IntN(5),
				Zone: []string{"", "a"}[random.IntN(2)], PerHour: random.Float64(),
			}))
			facts.Plans = append(facts.Plans, heldPlan(commitment.SavingsPlan{
				ID: fmt.Sprint("sp-", n), Family: []string{"", "m5"}[random.IntN(2)], PerHour: random.Float64(), Rates: rates,
			}))
		}
		var instances []commitment.Instance
		for n := range random.IntN(20) {
			instances = append(instances, commitment.Instance{
				ID: fmt.Sprint("i-", n), Type: sizes[random.IntN(len(sizes))], Zone: []string{"a", "b"}[random.IntN(2)],
				Own: random.IntN(2) == 0,
			})
		}
		reading := commitment.Reading{Time: now, Share: 1, Applied: commitment.Apply(facts, instances, now)}
		own, others := 0.0, 0.0
		for i := range reading.Stocks {
			use := reading.Stocks[i].Use()
			if math.Abs(use.OwnPerHour+use.OthersPerHour+use.IdlePerHour-use.PerHour) > 2e-6 {
				t.Errorf("seed %d: parts of %+v", seed, use)
			}
			own, others = own+use.OwnPerHour, others+use.OthersPerHour
		}
		paid, all := 0.0, 0.0
		for i := range instances {
			all += reading.Costs[instances[i].ID]
		}
		if reading.Own(instances); len(reading.Costs) != len(reading.Covered) {
			t.Errorf("seed %d: costs %v of %v", seed, reading.Costs, reading.Covered)
		}
		for _, cost := range reading.Costs {
			paid += cost
		}
		if few := 1e-6 * float64(len(instances)*len(reading.Stocks)+1); math.Abs(paid-own) > few ||
			math.Abs(all-own-others) > few {
			t.Errorf("seed %d: instances use $%v/h, own ones $%v/h, of stocks $%v/h and $%v/h", seed, all, paid, own, others)
		}
	}
}

// TestAUseSaysWhatItPaysFor names each kind.
func TestAUseSaysWhatItPaysFor(t *testing.T) {
	facts := commitment.Facts{
		OnDemand: map[string]float64{"m5.large": 0.1, "m5.xlarge": 0.2},
		Reserved: []commitment.ReservedInstance{
			held(commitment.ReservedInstance{ID: "a", InstanceType: "m5.large", Count: 2, Zone: "us-west-2a", PerHour: 0.1}),
			held(commitment.ReservedInstance{ID: "b", InstanceType: "m5.large", Count: 2, PerHour: 0.1}),
			held(commitment.ReservedInstance{ID: "c", InstanceType: "m5.xlarge", Count: 1, PerHour: 0.1}),
		},
		Plans: []commitment.SavingsPlan{
			heldPlan(commitment.SavingsPlan{ID: "sp-1", PerHour: 1, Rates: map[string]float64{"m5.large": 0.05}}),
			heldPlan(commitment.SavingsPlan{ID: "sp-2", Family: "m5", PerHour: 1}),
		},
	}
	facts.Reserved[2].End = now.AddDate(0, 0, 5)
	applied := commitment.Apply(facts, nil, now)
	var got []string
	for i := range applied.Stocks {
		use := applied.Stocks[i].Use()
		got = append(got, fmt.Sprintf("%s: %s: %s: $%.1f until %s", use.ID, use.Kind, use.Covers, use.IdlePerHour,
			use.Ends.Format("2006-01-02")))
	}
	want := []string{
		"m5.large@us-west-2a: Reserved Instances: m5.large in us-west-2a: $0.1 until 2027-11-02",
		"m5: Reserved Instances: m5 of any size in the region: $0.2 until 2026-11-07",
		"sp-2: EC2 Instance Savings Plan: m5 of any size in the region: $1.0 until 2027-11-02",
		"sp-1: Compute Savings Plan: any family, Fargate and Lambda: $1.0 until 2027-11-02",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
