package commitment_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/commitment"
)

var now = time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)

// held are the times of a commitment that holds.
func held(r commitment.ReservedInstance) commitment.ReservedInstance {
	r.Start, r.End = now.AddDate(-1, 0, 0), now.AddDate(1, 0, 0)
	return r
}

func heldPlan(p commitment.SavingsPlan) commitment.SavingsPlan {
	p.Start, p.End = now.AddDate(-1, 0, 0), now.AddDate(1, 0, 0)
	return p
}

// running makes instances with ids type-zone-number.
func running(count int, instanceType, zone string) []commitment.Instance {
	var list []commitment.Instance
	for n := range count {
		list = append(list, commitment.Instance{
			ID: fmt.Sprintf("%s-%s-%d", instanceType, zone, n), Type: instanceType, Zone: zone,
		})
	}
	return list
}

// TestReservedInstancesOfAWSExample follows the first scenario of
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/apply_ri.html: those of a zone pay for their type there, those of
// the region for other sizes, and for half of an instance that is twice as large.
func TestReservedInstancesOfAWSExample(t *testing.T) {
	facts := commitment.Facts{Reserved: []commitment.ReservedInstance{
		held(commitment.ReservedInstance{ID: "a", InstanceType: "m3.large", Count: 4, Zone: "us-east-1a"}),
		held(commitment.ReservedInstance{ID: "b", InstanceType: "m4.large", Count: 4}),
		held(commitment.ReservedInstance{ID: "c", InstanceType: "c4.large", Count: 1}),
	}}
	instances := slices.Concat(running(4, "m3.large", "us-east-1a"), running(4, "m4.xlarge", "us-east-1b"),
		running(1, "c4.xlarge", "us-east-1c"))
	got := commitment.Apply(facts, instances, now)
	want := map[string]float64{"c4.xlarge-us-east-1c-0": 0.5, "m4.xlarge-us-east-1b-0": 1, "m4.xlarge-us-east-1b-1": 1}
	for n := range 4 {
		want[fmt.Sprintf("m3.large-us-east-1a-%d", n)] = 1
	}
	if !reflect.DeepEqual(got.Covered, want) {
		t.Errorf("got %v, want %v", got.Covered, want)
	}
	for _, s := range got.Stocks {
		if s.Left(1) != 0 {
			t.Errorf("%s has %d of %d left", s.ID, s.Left(1), s.Total)
		}
	}
}

// TestSavingsPlansTakeTheDearestSavingFirst follows
// https://docs.aws.amazon.com/savingsplans/latest/userguide/sp-applying.html: a plan of a family comes before one of
// all families, and within a plan the greatest saving in percent.
func TestSavingsPlansTakeTheDearestSavingFirst(t *testing.T) {
	instances := slices.Concat(running(1, "m5.large", "a"), running(1, "c5.large", "a"), running(1, "r5.large", "a"))
	onDemand := map[string]float64{"m5.large": 0.10, "c5.large": 0.10, "r5.large": 0.10}
	rates := map[string]float64{"m5.large": 0.06, "c5.large": 0.05, "r5.large": 0.08}
	for name, c := range map[string]struct {
		plans []commitment.SavingsPlan
		want  map[string]float64
		left  map[string]int
	}{
		"of all": {
			[]commitment.SavingsPlan{heldPlan(commitment.SavingsPlan{ID: "all", PerHour: 0.08, Rates: rates})},
			map[string]float64{"c5.large-a-0": 1, "m5.large-a-0": 0.5}, map[string]int{"all": 0},
		},
		"a family's first": {
			[]commitment.SavingsPlan{
				heldPlan(commitment.SavingsPlan{ID: "all", PerHour: 0.06, Rates: rates}),
				heldPlan(commitment.SavingsPlan{
					ID: "m5", Family: "m5", PerHour: 0.07, Rates: map[string]float64{"m5.large": 0.055},
				}),
			},
			map[string]float64{"m5.large-a-0": 1, "c5.large-a-0": 1, "r5.large-a-0": 0.125},
			map[string]int{"m5": 15000, "all": 0},
		},
		"ended, and about to end": {
			[]commitment.SavingsPlan{
				{ID: "ended", PerHour: 1, Rates: rates, Start: now.AddDate(-2, 0, 0), End: now.AddDate(-1, 0, 0)},
				{ID: "ending", PerHour: 1, Rates: rates, Start: now.AddDate(-1, 0, 0), End: now.Add(30 * time.Minute)},
				{ID: "queued", PerHour: 1, Rates: rates, Start: now.Add(time.Minute), End: now.AddDate(1, 0, 0)},
			},
			map[string]float64{}, map[string]int{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := commitment.Apply(commitment.Facts{Plans: c.plans, OnDemand: onDemand}, instances, now)
			for id, part := range c.want {
				if math.Abs(got.Covered[id]-part) > 1e-6 {
					t.Errorf("%s is covered to %v, want %v", id, got.Covered[id], part)
				}
			}
			if len(got.Covered) != len(c.want) || len(got.Stocks) != len(c.left) {
				t.Errorf("covered %v, stocks %v", got.Covered, got.Stocks)
			}
			for _, s := range got.Stocks {
				if s.Left(1) != c.left[s.ID] {
					t.Errorf("%s has %d left, want %d", s.ID, s.Left(1), c.left[s.ID])
				}
			}
		})
	}
}

// TestOnlyWhatMatchesIsPaidFor has a Reserved Instance beside an instance that differs in one thing.
func TestOnlyWhatMatchesIsPaidFor(t *testing.T) {
	for name, c := range map[string]struct {
		reserved commitment.ReservedInstance
		instance commitment.Instance
		paid     bool
	}{
		"the same": {
			reserved: commitment.ReservedInstance{InstanceType: "m5.large"},
			instance: commitment.Instance{Type: "m5.large"}, paid: true,
		},
		"another size": {
			reserved: commitment.ReservedInstance{InstanceType: "m5.large"},
			instance: commitment.Instance{Type: "m5.medium"}, paid: true,
		},
		"another family": {
			reserved: commitment.ReservedInstance{InstanceType: "m5.large"},
			instance: commitment.Instance{Type: "m5a.large"}, paid: false,
		},
		"another zone": {
			reserved: commitment.ReservedInstance{InstanceType: "m5.large", Zone: "a"},
			instance: commitment.Instance{Type: "m5.large", Zone: "b"}, paid: false,
		},
		"a size in a zone": {
			reserved: commitment.ReservedInstance{InstanceType: "m5.large", Zone: "a"},
			instance: commitment.Instance{Type: "m5.medium", Zone: "a"}, paid: false,
		},
		"Windows": {
			reserved: commitment.ReservedInstance{InstanceType: "m5.large"},
			instance: commitment.Instance{Type: "m5.large", Platform: "Windows"}, paid: false,
		},
		"Windows for Windows": {
			reserved: commitment.ReservedInstance{InstanceType: "m5.large", Platform: "Windows"},
			instance: commitment.Instance{Type: "m5.large", Platform: "Windows"}, paid: true,
		},
		"a size with Windows": {
			reserved: commitment.ReservedInstance{InstanceType: "m5.large", Platform: "Windows"},
			instance: commitment.Instance{Type: "m5.medium", Platform: "Windows"}, paid: false,
		},
		"dedicated": {
			reserved: commitment.ReservedInstance{InstanceType: "m5.large"},
			instance: commitment.Instance{Type: "m5.large", Dedicated: true}, paid: false,
		},
		"a size with GPUs": {
			reserved: commitment.ReservedInstance{InstanceType: "g5.2xlarge"},
			instance: commitment.Instance{Type: "g5.xlarge"}, paid: false,
		},
		"the same with GPUs": {
			reserved: commitment.ReservedInstance{InstanceType: "g5.2xlarge"},
			instance: commitment.Instance{Type: "g5.2xlarge"}, paid: true,
		},
		"a size with much memory": {
			reserved: commitment.ReservedInstance{InstanceType: "u7i-12tb.224xlarge"},
			instance: commitment.Instance{Type: "u7i-12tb.112xlarge"}, paid: false,
		},
		"a size of workstations": {
			reserved: commitment.ReservedInstance{InstanceType: "gr6.8xlarge"},
			instance: commitment.Instance{Type: "gr6.4xlarge"}, paid: false,
		},
		"metal by its number": {
			reserved: commitment.ReservedInstance{InstanceType: "m7i.48xlarge"},
			instance: commitment.Instance{Type: "m7i.metal-24xl"}, paid: true,
		},
		"metal without number": {
			reserved: commitment.ReservedInstance{InstanceType: "m5.24xlarge"},
			instance: commitment.Instance{Type: "m5.metal"}, paid: false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.reserved.Count, c.instance.ID = 1, "i"
			facts := commitment.Facts{Reserved: []commitment.ReservedInstance{held(c.reserved)}}
			got := commitment.Apply(facts, []commitment.Instance{c.instance}, now)
			if paid := got.Covered["i"] > 0; paid != c.paid {
				t.Errorf("covered %v, want paid %v", got.Covered, c.paid)
			}
		})
	}
}

// TestNoUnitIsUsedTwice applies random commitments to random instances.
func TestNoUnitIsUsedTwice(t *testing.T) {
	types := []string{"m5.large", "m5.xlarge", "m5.4xlarge", "c5.large", "c5.2xlarge", "g5.xlarge", "t3.nano"}
	onDemand := map[string]float64{}
	for i, name := range types {
		onDemand[name] = 0.01 * float64(i+1)
	}
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 0))
		one := func() string { return types[random.IntN(len(types))] }
		zone := func() string { return []string{"a", "b", ""}[random.IntN(3)] }
		facts := commitment.Facts{OnDemand: onDemand}
		for n := range random.IntN(5) {
			facts.Reserved = append(facts.Reserved, held(commitment.ReservedInstance{
				ID: fmt.Sprint(n), InstanceType: one(), Count: 1 + random.IntN(5), Zone: zone(),
			}))
		}
		for n := range random.IntN(3) {
			rates := map[string]float64{}
			for name, price := range onDemand {
				rates[name] = price * (0.4 + 0.5*random.Float64())
			}
			facts.Plans = append(facts.Plans, heldPlan(commitment.SavingsPlan{
				ID: fmt.Sprint("plan-", n), Family: []string{"", "m5"}[random.IntN(2)], PerHour: random.Float64(), Rates: rates,
			}))
		}
		var instances []commitment.Instance
		for n := range random.IntN(30) {
			instances = append(instances, commitment.Instance{
				ID: fmt.Sprint("i-", n), Type: one(), Zone: []string{"a", "b"}[random.IntN(2)], Own: random.IntN(2) == 0,
			})
		}
		got := commitment.Apply(facts, instances, now)
		if again := commitment.Apply(facts, instances, now); !reflect.DeepEqual(again, got) {
			t.Errorf("seed %d: the second time it is another result", seed)
		}
		for _, s := range got.Stocks {
			if s.Used > s.Total || s.Own > s.Used || s.Left(1) > s.Total-s.Used || s.Left(0.5) > s.Left(1) || s.Left(0) != 0 {
				t.Errorf("seed %d: %+v", seed, s)
			}
		}
		for id, part := range got.Covered {
			if part <= 0 || part > 1+1e-9 {
				t.Errorf("seed %d: %s is covered to %v", seed, id, part)
			}
		}
	}
}

// TestTheShareOfAClusterIsItsMost lets a cluster use half of what others leave alone.
func TestTheShareOfAClusterIsItsMost(t *testing.T) {
	facts := commitment.Facts{Reserved: []commitment.ReservedInstance{
		held(commitment.ReservedInstance{ID: "a", InstanceType: "m5.large", Count: 10, Zone: "a"}),
	}}
	instances := running(3, "m5.large", "a")
	for i := range instances {
		instances[i].Own = i < 2
	}
	s := commitment.Apply(facts, instances, now).Stocks[0]
	for share, want := range map[float64]int{1: 7, 0.5: 3, 0.2: 0, 0.1: 0, 0: 0, 2: 7, -1: 0} {
		if got := s.Left(share); got != want {
			t.Errorf("a share of %v leaves %d, want %d", share, got, want)
		}
	}
}

// TestAPlanOfAFamilyLeavesNothingForOthers has a rate for another family too.
func TestAPlanOfAFamilyLeavesNothingForOthers(t *testing.T) {
	facts := commitment.Facts{Plans: []commitment.SavingsPlan{heldPlan(commitment.SavingsPlan{
		ID: "sp", Family: "m5", PerHour: 1, Rates: map[string]float64{"m5.large": 0.06, "c5.large": 0.05},
	})}}
	if units := commitment.Apply(facts, nil, now).Stocks[0].Units; len(units) != 1 || units["m5.large"] == 0 {
		t.Errorf("the plan of m5 is for %v", units)
	}
}
