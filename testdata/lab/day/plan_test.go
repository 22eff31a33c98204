package day

import (
	"slices"
	"testing"
	"time"
)

func TestASeedDeterminesThePlan(t *testing.T) {
	for _, size := range []Size{Full(), Short()} {
		first, second, other := Plan(7, size), Plan(7, size), Plan(8, size)
		if !slices.Equal(first, second) {
			t.Error("two plans of one seed differ")
		}
		if slices.Equal(first, other) {
			t.Error("the plans of two seeds are equal")
		}
	}
}

func TestAPlanIsADay(t *testing.T) {
	for seed := range uint64(50) {
		for _, size := range []Size{Full(), Short()} {
			plan := Plan(seed, size)
			if !slices.IsSortedFunc(plan, func(a, b Step) int { return int(a.At - b.At) }) {
				t.Errorf("seed %d: the steps are not in their order", seed)
			}
			kinds := map[Kind]int{}
			for _, step := range plan {
				kinds[step.Kind]++
				if step.At < 0 || step.At+step.Runs >= size.Length {
					t.Errorf("seed %d: %q at %s is not over at the end of the day", seed, step, step.At)
				}
			}
			for _, kind := range []Kind{Scale, Rollout, StartJob, Image, Warn, Sicken, Heal} {
				if kinds[kind] == 0 {
					t.Errorf("seed %d: no step is of the kind %q", seed, kind)
				}
			}
		}
	}
}

func TestTheWebLoadFollowsTheSun(t *testing.T) {
	least, most, mostAt := 1000, 0, time.Duration(0)
	for _, step := range Plan(1, Full()) {
		if step.Kind != Scale || step.Name != "storefront" {
			continue
		}
		least = min(least, step.Count)
		if step.Count > most {
			most, mostAt = step.Count, step.At
		}
	}
	if most < 3*least {
		t.Errorf("storefront has %d to %d pods, want three times as many by day", least, most)
	}
	if hour := mostAt.Hours() / Full().Hour().Hours(); hour < 11 || hour > 17 {
		t.Errorf("the peak is at %.1f hours, want about %d", hour, peakHour)
	}
}

func TestTheNodePoolWithLimitsHasRoomAtTheEnd(t *testing.T) {
	last := -1
	for _, step := range Plan(1, Short()) {
		if step.Name == reports {
			last = step.Count
		}
	}
	if last != reportsNight {
		t.Errorf("reports ends the day with %d pods, want %d", last, reportsNight)
	}
}
