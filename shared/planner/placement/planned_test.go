package placement_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/stagetest"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// read reads a snapshot and makes its demands, with a change of the NodePool.
func read(types []catalog.InstanceType, change func(*api.NodePool), pods ...corev1.Pod) *stagetest.Stages {
	s := stagetest.Snapshot(types, pods...)
	if change != nil {
		change(&s.NodePools[0])
	}
	stages := stagetest.Read(s)
	stages.Domain.Divide(stages.Work.Groups)
	return stages
}

// demandOf is the first demand of an app.
func demandOf(t *testing.T, stages *stagetest.Stages, app string) *placement.Demand {
	t.Helper()
	for _, d := range stages.State.Demands {
		if d.Group.Pod().Labels["app"] == app {
			return d
		}
	}
	t.Fatalf("no demand of the app %q", app)
	return nil
}

// typesOf are the instance types of the offerings, in order.
func typesOf(stages *stagetest.Stages, offerings []int) []string {
	var names []string
	for _, j := range offerings {
		names = append(names, stages.Offers.PoolTypeOf(j).Type.Name+" in "+stages.Offers.Offerings[j].Source.Zone)
	}
	return names
}

// TestRoom checks how many units of a demand a planned node takes beside what is on it.
func TestRoom(t *testing.T) {
	types := []catalog.InstanceType{stagetest.Type("large", 8, 32, 0.4, "a")}
	tests := []struct {
		name, on string // the app of which one pod is on the node, if any
		pods     []corev1.Pod
		want     int
	}{
		{"by size", "", app("web", 10), 8},
		{"up to the limit", "", app("web", 5), 5},
		{"beside a pod", "api", append(app("web", 10), app("api", 1)...), 7},
		{"host port", "", app("web", 3, usingPort(80)), 1},
		{"host port in use", "api", append(app("web", 3, usingPort(80)), app("api", 1, usingPort(80))...), 0},
		{"another host port", "api", append(app("web", 3, usingPort(80)), app("api", 1, usingPort(81))...), 1},
		{"anti-affinity to its own pods", "", app("web", 3, stagetest.Away(host, "web")), 1},
		{"anti-affinity to the pod there", "api",
			append(app("web", 3, stagetest.Away(host, "api")), app("api", 1)...), 0},
		{"anti-affinity of the pod there", "api",
			append(app("web", 3), app("api", 1, stagetest.Away(host, "web"))...), 0},
		{"spread over hosts", "", app("web", 5, stagetest.Spread(host, 2, "web")), 2},
		{"spread beside its own pod", "web", app("web", 5, stagetest.Spread(host, 3, "web")), 2},
		{"spread that counts other pods", "api",
			append(app("web", 5, stagetest.Spread(host, 2, "api")), app("api", 1)...), 5},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			stages := read(types, nil, test.pods...)
			n := stages.State.NewNode(0)
			if test.on != "" {
				stages.State.Place(n, demandOf(t, stages, test.on), 1)
			}
			d := demandOf(t, stages, "web")
			if got := stages.State.Room(n, d, d.Waiting); got != test.want {
				t.Errorf("room for %d, want %d", got, test.want)
			}
		})
	}
}

// TestHostConstraintsID checks that the id tells demands apart which a node may treat differently.
func TestHostConstraintsID(t *testing.T) {
	types := []catalog.InstanceType{stagetest.Type("large", 8, 32, 0.4, "a")}
	stages := read(types, nil, slices.Concat(app("plain", 1), app("port", 1, usingPort(80)), app("other", 1, usingPort(80)),
		app("third", 1, usingPort(81)), app("spread", 1, stagetest.Spread(host, 1, "spread")),
		app("wide", 1, stagetest.Spread(host, 2, "spread")))...)
	id := func(app string) int { return demandOf(t, stages, app).HostConstraintsID }
	ids := []int{0, id("port"), id("third"), id("spread"), id("wide")}
	if slices.Sort(ids); len(slices.Compact(slices.Clone(ids))) != 5 || id("plain") != 0 {
		t.Errorf("the ids are %v and %d, want five different ones, and zero without constraints", ids, id("plain"))
	}
	stages = read(types, nil, append(app("port", 1, usingPort(80)), app("other", 1, usingPort(80))...)...)
	if id("port") == 0 || id("port") != id("other") {
		t.Errorf("the ids for one host port are %d and %d", id("port"), id("other"))
	}
	if slots := demandOf(t, stages, "port").Slots; len(slots) != 1 || slots[0].Share != 1 {
		t.Errorf("a pod with a host port takes the slots %v, want a whole one", slots)
	}
}

// TestLedger checks what planned nodes leave of limits and reservations.
func TestLedger(t *testing.T) {
	small, large := stagetest.Type("small", 2, 8, 0.1, "a"), stagetest.Type("large", 8, 32, 0.4, "a")
	small.Offerings = append(small.Offerings, catalog.Offering{
		CapacityType: api.CapacityTypeReserved, Zone: "a", Price: 0.01, Available: true,
		ReservationID: "cr-1", ReservationCapacity: 1,
	})
	stages := read([]catalog.InstanceType{small, large}, func(p *api.NodePool) {
		p.Spec.Limits = api.Limits{corev1.ResourceCPU: resource.MustParse("12")}
	}, app("web", 20)...)
	// The offerings, from cheap to dear.
	const reserved, onDemand, eight = 0, 1, 2
	for _, test := range []struct {
		planned []int
		allowed []bool // reserved, onDemand and eight
	}{
		{nil, []bool{true, true, true}},
		{[]int{reserved}, []bool{false, true, true}},
		{[]int{onDemand, onDemand}, []bool{true, true, true}},
		{[]int{eight}, []bool{true, true, false}},
		{[]int{eight, onDemand, onDemand}, []bool{false, false, false}},
	} {
		var planned []*placement.PlannedNode
		for _, j := range test.planned {
			planned = append(planned, stages.State.NewNode(j))
		}
		ledger := stages.State.NewLedger(planned)
		for j, want := range test.allowed {
			if got := ledger.Allows(j); got != want {
				t.Errorf("with %v planned, offering %d is allowed: %v", test.planned, j, got)
			}
		}
		kept := stages.Offers.Pools[0].Offerings.Clone()
		ledger.KeepAllowed(kept)
		for j, want := range test.allowed {
			if kept.Has(j) != want {
				t.Errorf("with %v planned, KeepAllowed keeps offering %d: %v", test.planned, j, !want)
			}
		}
		before := slices.Clone(ledger.Limits)
		ledger.Take(eight, 2)
		ledger.Take(eight, -2)
		if after := ledger.Limits; !slices.Equal(before, after) {
			t.Errorf("left is %v after taking and giving back, and was %v", after, before)
		}
	}
	ledger := stages.State.NewLedger([]*placement.PlannedNode{stages.State.NewNode(eight)})
	for from, want := range map[int][]int{eight: {reserved, onDemand, eight}, onDemand: {reserved, onDemand}} {
		kept := stages.Offers.Pools[0].Offerings.Clone()
		ledger.KeepReplacing(kept, from)
		if got := slices.Collect(kept.All()); !slices.Equal(got, want) {
			t.Errorf("%v may replace offering %d, want %v", got, from, want)
		}
	}
	// Nodes are planned until the limit stops them: the reservation, a large node and a small one.
	d, cpu := demandOf(t, stages, "web"), int64(0)
	for len(stages.State.Planned) < 20 && stages.State.PlanNodeFor(d) != nil {
	}
	for _, n := range stages.State.Planned {
		cpu += stages.Offers.PoolTypeOf(n.Offering).Free[0]
	}
	if cpu != 12000 || d.Waiting != 20-len(stages.State.Planned) {
		t.Errorf("%d nodes of %dm cpu, and %d pods wait", len(stages.State.Planned), cpu, d.Waiting)
	}
}

// TestGrow checks that a planned node takes further units by a larger offering of its pool, as far as
// limits allow.
func TestGrow(t *testing.T) {
	types := []catalog.InstanceType{
		stagetest.Type("small", 2, 8, 0.1, "a"), stagetest.Type("medium", 4, 16, 0.2, "a"),
		stagetest.Type("large", 8, 32, 0.4, "a"),
	}
	for _, test := range []struct {
		limit, typ string
		placed     int
	}{{"100", "large", 8}, {"7", "medium", 4}, {"2", "small", 2}} {
		stages := read(types, func(p *api.NodePool) {
			p.Spec.Limits = api.Limits{corev1.ResourceCPU: resource.MustParse(test.limit)}
		}, app("web", 10)...)
		d := demandOf(t, stages, "web")
		n := stages.State.PlanNodeFor(d)
		placed := 1
		for ; stages.State.RoomOrGrow(n, d, 1) > 0; placed++ {
			stages.State.PlaceOrGrow(n, d, 1)
		}
		typ := stages.Offers.PoolTypeOf(n.Offering).Type.Name
		if placed != test.placed || typ != test.typ || d.Waiting != 10-placed || n.Free[0] != 0 {
			t.Errorf("limit %s: %d pods on %s, want %d on %s; %d wait, %dm are free",
				test.limit, placed, typ, test.placed, test.typ, d.Waiting, n.Free[0])
		}
	}
}

// TestMinValues checks which offerings a node's claim needs for minValues, and what they take of
// limits.
func TestMinValues(t *testing.T) {
	types := []catalog.InstanceType{
		stagetest.Type("small", 2, 8, 0.1, "a"), stagetest.Type("medium", 4, 16, 0.2, "a"),
		stagetest.Type("large", 8, 32, 0.3, "a"),
	}
	pool := func(minValues int, limit string) func(*api.NodePool) {
		return func(p *api.NodePool) {
			p.Spec.Template.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{
				{Key: instanceType, Operator: corev1.NodeSelectorOpExists, MinValues: &minValues},
			}
			p.Spec.Limits = api.Limits{corev1.ResourceCPU: resource.MustParse(limit)}
		}
	}
	for _, test := range []struct {
		name      string
		minValues int
		limit     string
		units     int // on a node of the smallest type that holds them
		needed    []string
		reserve   int64
		can       bool
	}{
		{"two types", 2, "100", 1, []string{"small in a", "medium in a"}, 2000, true},
		{"three types", 3, "100", 1, []string{"small in a", "medium in a", "large in a"}, 6000, true},
		{"four types", 4, "100", 1, nil, 0, false},
		{"the small type is too small", 2, "100", 3, []string{"medium in a", "large in a"}, 4000, true},
		{"only one is large enough", 2, "100", 5, nil, 0, false},
		{"the second exceeds the limit", 2, "3", 1, []string{"small in a", "medium in a"}, 2000, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			stages := read(types, pool(test.minValues, test.limit), app("web", 10)...)
			d := demandOf(t, stages, "web")
			var n *placement.PlannedNode
			for j := range types {
				if n = stages.State.NewNode(j); stages.State.Room(n, d, test.units) == test.units {
					break
				}
			}
			stages.State.Place(n, d, test.units)
			needed, _ := stages.State.NeededForMinValues(n)
			if got := typesOf(stages, needed); !slices.Equal(got, test.needed) {
				t.Errorf("needs %v, want %v", got, test.needed)
			}
			if can := stages.State.CanMeetMinValues(n); can != test.can {
				t.Errorf("can meet minValues: %v", can)
			}
			if reserve := stages.State.MinValuesReserve(n); test.needed != nil && reserve[0].Amount != test.reserve {
				t.Errorf("reserves %v, want %d", reserve, test.reserve)
			}
		})
	}
	// Each claim for one of two types takes 4 of 10 cores.
	stages := read(types, pool(2, "10"), app("web", 10)...)
	d, nodes := demandOf(t, stages, "web"), 0
	for len(stages.State.Planned) < 20 && stages.State.PlanNodeFor(d) != nil {
		nodes++
	}
	if nodes != 2 {
		t.Errorf("%d nodes are planned, want 2", nodes)
	}
}

// TestExpressible checks that a claim allows no type in a zone where it is not sold to it.
func TestExpressible(t *testing.T) {
	exotic := stagetest.Type("exotic", 4, 16, 0.3, "a")
	exotic.Exotic = true
	stages := read([]catalog.InstanceType{
		stagetest.Type("both", 4, 16, 0.1, "a", "b"), stagetest.Type("other", 4, 16, 0.2, "a", "b"), exotic,
	}, nil, app("web", 1)...)
	n := stages.State.NewNode(0)
	stages.State.Place(n, demandOf(t, stages, "web"), 1)
	fits := stages.State.AlternativesFor(n).Clone()
	if got := fmt.Sprint(typesOf(stages, slices.Collect(fits.All()))); got != "[both in a both in b other in a other in b]" {
		t.Errorf("the alternatives are %s", got)
	}
	all := []int{0, 1, 2}
	if got := stages.State.ExpressibleWithin(n, []int{0, 1, 2, 3}, fits); len(got) != 4 {
		t.Errorf("of four that fit, %v are expressible", typesOf(stages, got))
	}
	fits.Remove(3) // The type "other" does not fit in zone b.
	if got := stages.State.ExpressibleWithin(n, all, fits); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("%v are expressible", typesOf(stages, got))
	}
}

// TestPlannedValues checks the labels that planned nodes will have.
func TestPlannedValues(t *testing.T) {
	const team = "example.com/team"
	red := func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{team: "red"} }
	stages := read([]catalog.InstanceType{stagetest.Type("medium", 4, 16, 0.2, "a", "b")}, func(p *api.NodePool) {
		p.Spec.Template.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{
			{Key: team, Operator: corev1.NodeSelectorOpIn, Values: []string{"green", "red"}},
		}
	}, append(app("web", 1, red), app("api", 1, stagetest.InZone("b"))...)...)
	s := stages.State
	if values := s.PlannedValues(zone); len(values) != 0 {
		t.Errorf("zones %v without a node", values)
	}
	web, other := s.PlanNodeFor(demandOf(t, stages, "web")), s.PlanNodeFor(demandOf(t, stages, "api"))
	s.PlannedChanged()
	if values := s.PlannedValues(zone); !slices.Equal(values, []string{"a", "b"}) {
		t.Errorf("the zones are %v, want a and b", values)
	}
	if value := s.PlannedValue(web, team); value != "red" {
		t.Errorf("the team of the node for red pods is %q", value)
	}
	if value := s.PlannedValue(other, zone); value != "b" {
		t.Errorf("the zone of the node for zone b is %q", value)
	}
	if r := s.LabelsOf(web)[team]; !r.SubsetOf(scheduling.In(team, "red")) {
		t.Errorf("the node for red pods may have the team %v", r)
	}
}

// TestFollow checks that a demand goes only to nodes that have the pods which it follows.
func TestFollow(t *testing.T) {
	stages := divided([]plan.Node{stagetest.Node("n", "a", 4, running("cache", 1)...), stagetest.Node("m", "a", 4)},
		app("web", 2, stagetest.Near(host, "cache"))...)
	stages.State.FillExisting(0)
	for _, e := range stages.State.Existing {
		if got, want := len(e.Fills) > 0, e.Node.Name() == "n"; got != want {
			t.Errorf("node %s takes pods: %v", e.Node.Name(), got)
		}
	}
}
