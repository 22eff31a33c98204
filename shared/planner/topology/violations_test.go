package topology_test

import (
	"testing"

	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/stagetest"
)

// placeIf plans a node for each unit of the demands that the condition holds for.
func placeIf(t *testing.T, stages *stagetest.Stages, condition func(*placement.Demand) bool) {
	t.Helper()
	for _, d := range stages.State.Demands {
		for d.Waiting > 0 && condition(d) {
			if stages.State.PlanNodeFor(d) == nil {
				t.Fatalf("pod %q has no place", d.Group.Pod().Name)
			}
		}
	}
}

// TestSpreadViolations places two pods each in some of three zones. The pods that exceed maxSkew
// violate the spread.
func TestSpreadViolations(t *testing.T) {
	tests := []struct {
		name, placed string
		maxSkew      int32
		want         int
	}{
		{name: "all zones", placed: "abc", maxSkew: 1, want: 0},
		{name: "one zone is empty", placed: "ab", maxSkew: 1, want: 1},
		{name: "an empty zone within maxSkew", placed: "ab", maxSkew: 2, want: 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			list := app("web", 6, stagetest.Spread(zone, test.maxSkew, "web"))
			stages := stagetest.Read(stagetest.Snapshot(types(), list...))
			stages.Domain.Divide(stages.Work.Groups)
			placed := func(d *placement.Demand) bool {
				for _, z := range test.placed {
					if d.Domains[zone] == string(z) {
						return true
					}
				}
				return false
			}
			placeIf(t, stages, placed)
			stages.Domain.RecordPlaces()
			defer stages.Domain.ForgetPlaces()
			for _, d := range stages.State.Demands {
				if units, _ := stages.Domain.Violations(d); placed(d) && max(units, 0) != test.want {
					t.Errorf("zone %s has %d violations, want %d", d.Domains[zone], units, test.want)
				}
			}
		})
	}
}

// TestAffinityViolations places pods without those that they have to be near.
func TestAffinityViolations(t *testing.T) {
	for _, key := range []string{zone, host} {
		list := pods(app("web", 3, stagetest.Near(key, "cache")), app("cache", 1))
		stages := stagetest.Read(stagetest.Snapshot(types(), list...))
		stages.Domain.Divide(stages.Work.Groups)
		isWeb := func(d *placement.Demand) bool { return d.Group.Pod().Labels["app"] == "web" }
		placeIf(t, stages, isWeb)
		stages.Domain.RecordPlaces()
		for _, d := range stages.State.Demands {
			want := 0
			if isWeb(d) {
				want = 3
			}
			if units, _ := stages.Domain.Violations(d); units != want {
				t.Errorf("%s: %s has %d violations, want %d", key, d.Group.Pod().Labels["app"], units, want)
			}
		}
		stages.Domain.ForgetPlaces()
	}
}

// TestAffinityHolds places pods in the zone of those that they have to be near.
func TestAffinityHolds(t *testing.T) {
	list := pods(app("web", 3, stagetest.Near(zone, "cache")), app("cache", 1))
	stages := stagetest.Read(stagetest.Snapshot(types(), list...))
	stages.Domain.Divide(stages.Work.Groups)
	placeIf(t, stages, func(*placement.Demand) bool { return true })
	stages.Domain.RecordPlaces()
	defer stages.Domain.ForgetPlaces()
	for _, d := range stages.State.Demands {
		if units, _ := stages.Domain.Violations(d); units != 0 {
			t.Errorf("%s has %d violations, want none", d.Group.Pod().Labels["app"], units)
		}
	}
}
