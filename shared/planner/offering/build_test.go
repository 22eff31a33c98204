package offering_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/stagetest"
	"github.com/whittle-dev/whittle/shared/planner/workload"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

const zone, instanceType = corev1.LabelTopologyZone, corev1.LabelInstanceTypeStable

// build reads a snapshot and builds its index.
func build(s *plan.Snapshot, exclusions ...offering.Exclusion) *offering.Index {
	return offering.Build(workload.Read(s), exclusions)
}

// catalogue is a snapshot with all instance types of the catalogue for each of the pools.
func catalogue(t *testing.T, pools ...api.NodePool) *plan.Snapshot {
	class := catalogtest.NodeClass("default")
	types := catalog.Resolve(catalogtest.Catalog(t), class, catalog.Observed{}, catalogtest.Now)
	s := &plan.Snapshot{
		NodePools: pools, NodeClasses: []api.EC2NodeClass{*class}, InstanceTypes: map[string][]catalog.InstanceType{},
	}
	for i := range pools {
		s.InstanceTypes[pools[i].Name] = types
	}
	return s
}

// requiring adds a requirement to a NodePool.
func requiring(key string, operator corev1.NodeSelectorOperator, values ...string) func(*api.NodePool) {
	return func(p *api.NodePool) {
		spec := &p.Spec.Template.Spec
		spec.Requirements = append(spec.Requirements, api.NodeSelectorRequirementWithMinValues{
			Key: key, Operator: operator, Values: values,
		})
	}
}

// weighing sets the weight of a NodePool.
func weighing(weight int32) func(*api.NodePool) {
	return func(p *api.NodePool) { p.Spec.Weight = &weight }
}

// describe writes an offering as pool/type/zone/capacity type.
func describe(ix *offering.Index, j int) string {
	t, source := ix.PoolTypeOf(j), ix.Offerings[j].Source
	return strings.Join([]string{t.Pool.Name(), t.Type.Name, source.Zone, source.CapacityType}, "/")
}

// described writes the offerings of a set, cheapest first.
func described(ix *offering.Index, set dense.Set) []string {
	var list []string
	for j := range set.All() {
		list = append(list, describe(ix, j))
	}
	return list
}

// allOf writes all offerings, cheapest first.
func allOf(ix *offering.Index) []string {
	var list []string
	for j := range ix.Offerings {
		list = append(list, describe(ix, j))
	}
	return list
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestOrder checks the numbers of offerings: by price, then spot first, then by pool and type, then
// by zone.
func TestOrder(t *testing.T) {
	cheap := stagetest.Type("cheap", 2, 8, 0.1, "b", "a")
	dear := stagetest.OnSpot(stagetest.Type("dear", 4, 16, 0.2, "a"), 0.1)
	other := stagetest.Type("another", 2, 8, 0.2, "a")
	ix := build(stagetest.Snapshot([]catalog.InstanceType{dear, cheap, other}))
	equal(t, "the offerings", allOf(ix), []string{
		"default/dear/a/spot", "default/cheap/a/on-demand", "default/cheap/b/on-demand",
		"default/another/a/on-demand", "default/dear/a/on-demand",
	})
}

// TestIndex checks the invariants of an index of the whole catalogue with three pools, and that the
// order of the snapshot's lists does not matter.
func TestIndex(t *testing.T) {
	s := catalogue(t, stagetest.Pool("light"),
		stagetest.Pool("heavy", weighing(10), requiring(corev1.LabelArchStable, corev1.NodeSelectorOpIn, "arm64")),
		stagetest.Pool("also-heavy", weighing(10), requiring(zone, corev1.NodeSelectorOpIn, "us-east-1b")))
	ix := build(s)
	if len(ix.Offerings) < 1000 {
		t.Fatalf("%d offerings, want the whole catalogue", len(ix.Offerings))
	}
	for j := 1; j < len(ix.Offerings); j++ {
		if ix.Offerings[j].Price < ix.Offerings[j-1].Price {
			t.Fatalf("offering %d is cheaper than the one before", j)
		}
	}
	for i := range ix.PoolTypes {
		if !slices.IsSorted(ix.PoolTypes[i].Offerings) {
			t.Fatalf("the offerings of pool type %d are not sorted", i)
		}
		for _, j := range ix.PoolTypes[i].Offerings {
			if int(ix.Offerings[j].PoolType) != i {
				t.Fatalf("pool type %d lists an offering of pool type %d", i, ix.Offerings[j].PoolType)
			}
		}
	}
	var names []string
	for i, pool := range ix.Pools {
		names = append(names, pool.Name())
		if i > 0 && pool.FirstType != ix.Pools[i-1].EndType {
			t.Errorf("the types of pool %s do not follow those of the pool before", pool.Name())
		}
		for j := range ix.Offerings {
			if pool.Offerings.Has(j) != (ix.PoolTypeOf(j).Pool == pool) {
				t.Fatalf("the set of pool %s is wrong about offering %d", pool.Name(), j)
			}
		}
	}
	equal(t, "the pools", names, []string{"also-heavy", "heavy", "light"})
	if len(ix.Tiers) != 2 {
		t.Fatalf("%d tiers, want 2", len(ix.Tiers))
	}
	heavy := ix.Pools[0].Offerings.Clone()
	heavy.Or(ix.Pools[1].Offerings)
	equal(t, "the first tier", described(ix, ix.Tiers[0]), described(ix, heavy))
	equal(t, "the second tier", described(ix, ix.Tiers[1]), described(ix, ix.Pools[2].Offerings))
	for j := range ix.Offerings {
		pool, source := ix.PoolTypeOf(j).Pool.Name(), ix.Offerings[j].Source
		arm := ix.PoolTypeOf(j).Type.Requirements[corev1.LabelArchStable].Has("arm64")
		if pool == "heavy" && !arm || pool == "also-heavy" && source.Zone != "us-east-1b" {
			t.Fatalf("the pool's requirements exclude %s", describe(ix, j))
		}
		if ix.Exotic.Has(j) != ix.PoolTypeOf(j).Type.Exotic {
			t.Fatalf("the exotic set is wrong about %s", describe(ix, j))
		}
	}

	random := rand.New(rand.NewPCG(1, 1))
	shuffled := *s
	shuffled.NodePools = slices.Clone(s.NodePools)
	random.Shuffle(len(shuffled.NodePools), func(i, j int) {
		shuffled.NodePools[i], shuffled.NodePools[j] = shuffled.NodePools[j], shuffled.NodePools[i]
	})
	types := slices.Clone(s.InstanceTypes["light"])
	random.Shuffle(len(types), func(i, j int) { types[i], types[j] = types[j], types[i] })
	shuffled.InstanceTypes = map[string][]catalog.InstanceType{"light": types, "heavy": types, "also-heavy": types}
	equal(t, "the shuffled offerings", allOf(build(&shuffled)), allOf(ix))
}

// TestExclusions checks that an exclusion takes away the offerings with its attribute value, and
// nothing else.
func TestExclusions(t *testing.T) {
	types := []catalog.InstanceType{
		stagetest.OnSpot(stagetest.Type("small", 2, 8, 0.1, "a", "b"), 0.03),
		stagetest.OnSpot(stagetest.Type("large", 4, 16, 0.2, "a", "b"), 0.06),
	}
	s := stagetest.Snapshot(types)
	s.NodePools = append(s.NodePools, stagetest.Pool("other"))
	s.InstanceTypes["other"] = types
	all := allOf(build(s))
	if len(all) != 16 {
		t.Fatalf("%d offerings without exclusions, want 16", len(all))
	}
	for _, e := range []offering.Exclusion{
		{Key: api.NodePoolLabelKey, Value: "other"}, {Key: instanceType, Value: "small"}, {Key: zone, Value: "a"},
		{Key: api.CapacityTypeLabelKey, Value: api.CapacityTypeSpot},
	} {
		t.Run(e.Value, func(t *testing.T) {
			want := slices.DeleteFunc(slices.Clone(all), func(text string) bool {
				return slices.Contains(strings.Split(text, "/"), e.Value)
			})
			ix := build(s, e)
			equal(t, "the offerings", allOf(ix), want)
			if len(want) != 8 {
				t.Errorf("%d offerings are left, want 8", len(want))
			}
		})
	}
	both := []offering.Exclusion{{Key: instanceType, Value: "small"}, {Key: instanceType, Value: "large"}}
	ix := build(s, both...)
	if len(ix.Offerings) != 0 || ix.Pools[0].Problem == "" {
		t.Errorf("%d offerings without any type, problem %q", len(ix.Offerings), ix.Pools[0].Problem)
	}
}

// TestProblems checks that pools which cannot launch a node say why, and offer nothing.
func TestProblems(t *testing.T) {
	notReady := []metav1.Condition{{Type: api.ConditionReady, Status: metav1.ConditionFalse, Message: "no subnet"}}
	tests := []struct {
		name    string
		change  func(*plan.Snapshot, *api.NodePool)
		problem string
	}{
		{"deleted", func(_ *plan.Snapshot, p *api.NodePool) { p.DeletionTimestamp = &metav1.Time{} }, "is being deleted"},
		{"static", func(_ *plan.Snapshot, p *api.NodePool) { p.Spec.Replicas = new(int64) }, "spec.replicas"},
		{"not ready", func(_ *plan.Snapshot, p *api.NodePool) { p.Status.Conditions = notReady }, "no subnet"},
		{"class not ready", func(s *plan.Snapshot, _ *api.NodePool) {
			s.NodeClasses[0].Status.Conditions = notReady
		}, "no subnet"},
		{"class not ready by a condition", func(s *plan.Snapshot, _ *api.NodePool) {
			s.NodeClasses[0].Status.Conditions = []metav1.Condition{
				{Type: api.ConditionReady, Status: metav1.ConditionFalse, Message: "ValidationSucceeded=False"},
				{Type: api.ConditionTypeValidationSucceeded, Status: metav1.ConditionFalse, Message: "denied by a policy"},
			}
		}, "ValidationSucceeded: denied by a policy"},
		{"class deleted", func(s *plan.Snapshot, _ *api.NodePool) {
			s.NodeClasses[0].DeletionTimestamp = &metav1.Time{}
		}, "is being deleted"},
		{"contradiction", func(_ *plan.Snapshot, p *api.NodePool) {
			requiring(zone, corev1.NodeSelectorOpIn, "a")(p)
			requiring(zone, corev1.NodeSelectorOpNotIn, "a")(p)
		}, "contradict each other"},
		{"unknown type", func(_ *plan.Snapshot, p *api.NodePool) {
			requiring(instanceType, corev1.NodeSelectorOpIn, "none")(p)
		}, "none of 1 known instance types has"},
		{"misspelled type", func(s *plan.Snapshot, p *api.NodePool) {
			requiring(instanceType, corev1.NodeSelectorOpIn, s.InstanceTypes["default"][0].Name+"e")(p)
		}, "(did you mean \""},
		{"zone without offerings", func(_ *plan.Snapshot, p *api.NodePool) {
			requiring(zone, corev1.NodeSelectorOpIn, "b")(p)
		}, "no offering available"},
		{"full reservations", func(s *plan.Snapshot, p *api.NodePool) {
			requiring(api.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, api.CapacityTypeReserved)(p)
			typ := &s.InstanceTypes["default"][0]
			typ.Requirements[api.CapacityTypeLabelKey] = scheduling.In(api.CapacityTypeLabelKey, api.CapacityTypeReserved)
			for i := range typ.Offerings {
				o := &typ.Offerings[i]
				o.CapacityType, o.ReservationID, o.Available = api.CapacityTypeReserved, "cr-1", false
			}
		}, "it allows only capacity reservations (cr-1), and none of them is known to have a free instance now"},
		{"no types", func(s *plan.Snapshot, _ *api.NodePool) { s.InstanceTypes = nil }, "no instance type is known"},
		{"a large daemon set", func(s *plan.Snapshot, _ *api.NodePool) {
			s.DaemonSets = []appsv1.DaemonSet{daemonSet("agent", "100m", nil, 0), daemonSet("typo", "20", nil, 0)}
		}, "default/typo 20, default/agent 0.1 request cpu 20.1, and small offers 2: lower the request"},
		{"several daemon sets", func(s *plan.Snapshot, _ *api.NodePool) {
			s.InstanceTypes["default"] = append(s.InstanceTypes["default"], stagetest.Type("tiny", 1, 4, 0.05, "a"))
			s.DaemonSets = []appsv1.DaemonSet{daemonSet("a", "1", nil, 0), daemonSet("b", "1100m", nil, 0)}
		}, "none of the 2 instance types has room for its daemon sets: default/b 1.1, default/a 1 request cpu 2.1, " +
			"and the largest (small) offers 2"},
		{"a daemon set with a device", func(s *plan.Snapshot, _ *api.NodePool) {
			set := daemonSet("agent", "1", nil, 0)
			set.Spec.Template.Spec.Containers[0].Resources.Requests[corev1.ResourceHugePagesPrefix+"2Mi"] = resource.MustParse("1Gi")
			s.DaemonSets = []appsv1.DaemonSet{set}
		}, "default/agent requests hugepages-2Mi 1Gi, of which no node has any: no instance type of EC2 has it"},
		{"daemon sets of one zone", func(s *plan.Snapshot, _ *api.NodePool) {
			s.DaemonSets = []appsv1.DaemonSet{daemonSet("agent", "3", map[string]string{zone: "a"}, 0)}
		}, "the instance type small has no room for its daemon sets: default/agent requests cpu 3, and small offers 2"},
		{"daemon sets that lack different things", func(s *plan.Snapshot, _ *api.NodePool) {
			s.InstanceTypes["default"] = append(s.InstanceTypes["default"], stagetest.Type("flat", 8, 1, 0.05, "a"))
			set := daemonSet("agent", "3", nil, 0)
			set.Spec.Template.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = resource.MustParse("2Gi")
			s.DaemonSets = []appsv1.DaemonSet{set}
		}, "none of the 2 instance types has room for its daemon sets, which request cpu 3, memory 2Gi, pods 1 together"},
		{"in order", func(*plan.Snapshot, *api.NodePool) {}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			typ := stagetest.Type("small", 2, 8, 0.1, "a", "b")
			typ.Offerings[1].Available = false
			s := stagetest.Snapshot([]catalog.InstanceType{typ})
			test.change(s, &s.NodePools[0])
			ix := build(s)
			problem := ix.Pools[0].Problem
			if !strings.Contains(problem, test.problem) || (problem == "") != (test.problem == "") {
				t.Errorf("the problem is %q, want %q", problem, test.problem)
			}
			if (len(ix.Offerings) > 0) != (test.problem == "") {
				t.Errorf("%d offerings with the problem %q", len(ix.Offerings), problem)
			}
		})
	}
}

// daemonSet requests cpu on the nodes that its node selector selects.
func daemonSet(name, cpu string, selector map[string]string, port int32) appsv1.DaemonSet {
	pod := stagetest.Pod(name, cpu, "1Gi")
	pod.Spec.NodeSelector = selector
	if port > 0 {
		pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: port, Protocol: corev1.ProtocolTCP}}
	}
	var d appsv1.DaemonSet
	d.Namespace, d.Name = "default", name
	d.Spec.Template.Spec = pod.Spec
	return d
}

// TestDaemonSets checks what DaemonSets leave of nodes. An instance type has a pool type for each
// combination of DaemonSets.
func TestDaemonSets(t *testing.T) {
	types := []catalog.InstanceType{stagetest.Type("large", 4, 16, 0.2, "a", "b"), stagetest.Type("tiny", 1, 4, 0.1, "a", "b")}
	s := stagetest.Snapshot(types)
	s.DaemonSets = []appsv1.DaemonSet{
		daemonSet("everywhere", "500m", nil, 0),
		daemonSet("in-b", "1", map[string]string{zone: "b"}, 9100),
		daemonSet("elsewhere", "1", map[string]string{zone: "z"}, 0),
		daemonSet("on-gpus", "1", map[string]string{api.LabelInstanceGPUName: "t4"}, 0),
	}
	ix := build(s)
	free := map[string]int64{}
	ids := map[int]bool{}
	for j := range ix.Offerings {
		pt := ix.PoolTypeOf(j)
		free[describe(ix, j)] = pt.Free[0]
		ids[pt.DaemonRequestsID] = true
		if want := pt.Type.Allocatable.Cpu().MilliValue() - pt.Free[0]; pt.DaemonRequests.Cpu().MilliValue() != want {
			t.Errorf("%s: DaemonSets request %s, want %dm", describe(ix, j), pt.DaemonRequests.Cpu(), want)
		}
	}
	// The tiny type has no room for both DaemonSets in zone b.
	want := map[string]int64{
		"default/large/a/on-demand": 3500, "default/large/b/on-demand": 2500, "default/tiny/a/on-demand": 500,
	}
	if !maps.Equal(free, want) {
		t.Errorf("free cpu is %v, want %v", free, want)
	}
	if len(ids) != 2 || ids[0] {
		t.Errorf("the ids of the sums are %v, want two that are not zero", ids)
	}

	pod := stagetest.Pod("p", "100m", "128Mi")
	pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 9100, Protocol: corev1.ProtocolTCP}}
	s.Pods = []corev1.Pod{pod}
	ix = build(s)
	g := ix.Work.Groups[0]
	feasible, _ := ix.OfferingsFor(g, g.Alternatives, g.Need)
	equal(t, "the offerings with a free host port", described(ix, feasible),
		[]string{"default/tiny/a/on-demand", "default/large/a/on-demand"})
}

// TestProductsRefuseUnfitOfferings wants the tiny type in zone a and the large type in zone b. The tiny
// type in zone b has no room for its DaemonSets, so no NodeClaim may allow all three.
func TestProductsRefuseUnfitOfferings(t *testing.T) {
	s := stagetest.Snapshot([]catalog.InstanceType{
		stagetest.Type("large", 4, 16, 0.2, "a", "b"), stagetest.Type("tiny", 1, 4, 0.1, "a", "b"),
	})
	s.DaemonSets = []appsv1.DaemonSet{daemonSet("in-b", "2", map[string]string{zone: "b"}, 0)}
	ix := build(s)
	const tinyA, largeA, largeB = 0, 1, 2
	equal(t, "offerings", allOf(ix), []string{
		"default/tiny/a/on-demand", "default/large/a/on-demand", "default/large/b/on-demand",
	})
	for _, test := range []struct {
		added    []int
		requires scheduling.Requirements
		want     bool
	}{
		{added: []int{largeA, largeB}, want: true},
		{added: []int{tinyA, largeA}, want: true},
		{added: []int{tinyA, largeB}, want: false},
		{added: []int{tinyA, largeB}, requires: scheduling.NewRequirements(scheduling.In(zone, "a", "b")), want: false},
		{added: []int{tinyA, largeB}, requires: scheduling.NewRequirements(scheduling.In(zone, "a")), want: true},
		{
			added:    []int{tinyA, largeB},
			requires: scheduling.NewRequirements(scheduling.In(corev1.LabelArchStable, api.ArchitectureArm64)), want: true,
		},
	} {
		p := offering.NewProduct(ix, ix.Pools[0])
		p.Require(test.requires)
		for _, j := range test.added {
			p.Add(j)
		}
		if got := p.Within(ix.Pools[0].Offerings); got != test.want {
			t.Errorf("the product of %v with %v has room for DaemonSets: %v", test.added, test.requires, got)
		}
	}
}

// TestDaemonSetsOfStartedNodes checks DaemonSets that wait for the labels that lifecycle sets.
func TestDaemonSetsOfStartedNodes(t *testing.T) {
	selecting := func(key, value string) map[string]string { return map[string]string{key: value} }
	for _, test := range []struct {
		name     string
		selector map[string]string
		free     int64
	}{
		{"registered nodes", selecting(api.NodeRegisteredLabelKey, "true"), 3000},
		{"initialized nodes", selecting(api.NodeInitializedLabelKey, "true"), 3000},
		{"another value", selecting(api.NodeInitializedLabelKey, "false"), 4000},
		{"both, and a zone that there is not", map[string]string{
			api.NodeRegisteredLabelKey: "true", api.NodeInitializedLabelKey: "true", zone: "z",
		}, 4000},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := stagetest.Snapshot([]catalog.InstanceType{stagetest.Type("large", 4, 16, 0.2, "a")})
			s.DaemonSets = []appsv1.DaemonSet{daemonSet("agent", "1", test.selector, 0)}
			if got := build(s).PoolTypes[0].Free[0]; got != test.free {
				t.Errorf("a new node has %dm free, want %dm", got, test.free)
			}
		})
	}
}

// TestMostAndLeast checks the greatest free amounts of offerings, the least that they take of a limit,
// and which ones stay within what is left of limits.
func TestMostAndLeast(t *testing.T) {
	var types []catalog.InstanceType
	for i := range int64(200) {
		// Cheap types have much memory and few cores.
		types = append(types, stagetest.Type(fmt.Sprintf("type-%03d", i), 1+i, 400-i, float64(1+i), "a"))
	}
	s := stagetest.Snapshot(types)
	s.NodePools[0].Spec.Limits = api.Limits{
		corev1.ResourceCPU: resource.MustParse("1000"), corev1.ResourceMemory: resource.MustParse("10Ti"),
	}
	ix := build(s)
	axes := ix.Work.Axes.Position
	const cpuLimit, memoryLimit = 0, 1
	for _, step := range []int{1, 30} { // A large set and a small one.
		set := dense.NewSet(len(ix.Offerings))
		for j := 10; j < 150; j += step {
			set.Add(j)
		}
		last := int64(slices.Max(slices.Collect(set.All())))
		free := ix.MostFree(set)
		cpu, memory := free[axes[corev1.ResourceCPU]], free[axes[corev1.ResourceMemory]]
		if cpu != 1000*(1+last) || memory != 390<<30 {
			t.Errorf("the greatest nodes have %dm cpu and %d bytes, want %d cores and 390Gi", cpu, memory, 1+last)
		}
		cpu, _ = ix.LeastLimitUse(cpuLimit, set)
		memory, _ = ix.LeastLimitUse(memoryLimit, set)
		if cpu != 11_000 || memory != (400-last)<<30 {
			t.Errorf("the smallest nodes take %dm cpu and %d bytes, want 11 cores and %dGi", cpu, memory, 400-last)
		}
		kept := set.Clone()
		ix.KeepWithin(kept, []int64{101_000, 350 << 30})
		for j := range set.All() {
			if want := j >= 50 && j <= 100; kept.Has(j) != want {
				t.Errorf("offering %d of %d cores and %dGi is kept: %v", j, 1+j, 400-j, !want)
			}
		}
		if ix.KeepWithin(kept, []int64{-1, 0}); !kept.Empty() {
			t.Errorf("exceeded limits leave %v", described(ix, kept))
		}
	}
}

// TestAllowing compares the offerings that a requirement allows with a look at each offering.
func TestAllowing(t *testing.T) {
	const team = "example.com/team"
	named := func(name, label string) catalog.InstanceType {
		typ := stagetest.OnSpot(stagetest.Type(name, 4, 16, 0.2, "a", "b"), 0.1)
		if label != "" {
			typ.Requirements.Add(scheduling.In(team, label))
		}
		return typ
	}
	special := named("special", "")
	special.Offerings[1].Requirements = scheduling.NewRequirements(scheduling.In(team, "red"))
	ix := build(stagetest.Snapshot([]catalog.InstanceType{
		named("red", "red"), named("red-too", "red"), named("blue", "blue"), named("none", ""), special,
	}))
	for _, r := range []scheduling.Requirement{
		scheduling.In(team, "red"), scheduling.In(team, "blue", "green"), scheduling.NotIn(team, "red"),
		scheduling.Exists(team), scheduling.DoesNotExist(team), scheduling.In("example.com/unknown", "x"),
		scheduling.In(zone, "b"), scheduling.NotIn(api.CapacityTypeLabelKey, api.CapacityTypeSpot),
	} {
		got := ix.Feasibilities.Allowing(r)
		for j := range ix.Offerings {
			have, ok := ix.PoolTypeOf(j).Type.Requirements[r.Key()]
			want := (!ok || offering.IsOfferingKey(r.Key()) || have.Intersects(r)) &&
				ix.Offerings[j].Source.AllowedBy(scheduling.Requirements{r.Key(): r})
			if got.Has(j) != want {
				t.Errorf("%v allows %s: %v", r, describe(ix, j), got.Has(j))
			}
		}
	}
	if domains := ix.Feasibilities.Domains("example.com/unknown"); len(domains) > 0 {
		t.Errorf("a label that nothing mentions has the values %v", domains)
	}
}

// TestLimits checks what existing nodes leave of limits: nodes in flight count, and nodes that leave do not.
func TestLimits(t *testing.T) {
	types := []catalog.InstanceType{stagetest.Type("large", 8, 32, 0.4, "a"), stagetest.Type("small", 2, 8, 0.1, "a")}
	s := stagetest.Snapshot(types)
	s.NodePools[0].Spec.Limits = api.Limits{
		corev1.ResourceCPU: resource.MustParse("20"), api.ResourceNodes: resource.MustParse("3"),
	}
	node := func(name, pool string, cores int64) plan.Node {
		n := stagetest.Node(name, "a", cores)
		n.Node.Status.Capacity = n.Node.Status.Allocatable
		n.NodeClaim = &api.NodeClaim{}
		n.NodeClaim.Name, n.NodeClaim.Labels = name, map[string]string{api.NodePoolLabelKey: pool}
		n.NodeClaim.Status.Capacity = n.Node.Status.Capacity
		return n
	}
	leaving := node("leaving", "default", 3)
	leaving.NodeClaim.DeletionTimestamp = &metav1.Time{}
	claim := &api.NodeClaim{}
	claim.Name, claim.Labels = "claim", map[string]string{api.NodePoolLabelKey: "default"}
	claim.Spec.NodeClassRef = s.NodePools[0].Spec.Template.Spec.NodeClassRef
	claim.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{
		{Key: instanceType, Operator: corev1.NodeSelectorOpIn, Values: []string{"small", "large"}},
	}
	for _, test := range []struct {
		name       string
		nodes      []plan.Node
		cpu, count int64
	}{
		{"no nodes", nil, 20000, 3},
		{"a node", []plan.Node{node("n", "default", 4)}, 16000, 2},
		{"another pool's node", []plan.Node{node("n", "other", 4)}, 20000, 3},
		{"a node that leaves", []plan.Node{leaving}, 20000, 3},
		{"a claim counts with its largest type", []plan.Node{{NodeClaim: claim}}, 12000, 2},
		{"more than the limit", []plan.Node{node("n", "default", 21)}, -1000, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			s.Nodes = test.nodes
			ix := build(s)
			left := map[corev1.ResourceName]int64{}
			for i, amount := range ix.LimitsLeft() {
				left[ix.Limits[i].Name] = amount
			}
			want := map[corev1.ResourceName]int64{corev1.ResourceCPU: test.cpu, api.ResourceNodes: test.count}
			if !maps.Equal(left, want) {
				t.Errorf("left is %v, want %v", left, want)
			}
		})
	}
	s.Nodes = nil
	ix := build(s)
	var order []string
	for _, j := range ix.ByLimitShare(ix.Pools[0]) {
		order = append(order, fmt.Sprint(describe(ix, j), " ", ix.LimitUse(j)))
	}
	equal(t, "the order by share of limits", order,
		[]string{"default/small/a/on-demand [{0 2000} {1 1}]", "default/large/a/on-demand [{0 8000} {1 1}]"})
	if ix.Limited.Empty() {
		t.Error("no offering is limited")
	}
}

// TestReservations checks that offerings of one capacity reservation share it, with the greatest
// count that any of them has.
func TestReservations(t *testing.T) {
	typ := stagetest.Type("small", 2, 8, 0.1, "a")
	for i, id := range []string{"cr-1", "cr-2", "cr-1", "cr-2"} {
		typ.Offerings = append(typ.Offerings, catalog.Offering{
			CapacityType: api.CapacityTypeReserved, Zone: "a", Price: 0.01, Available: true,
			ReservationID: id, ReservationCapacity: []int{3, 4, 2, 5}[i],
		})
	}
	ix := build(stagetest.Snapshot([]catalog.InstanceType{typ}))
	capacity := map[string]int{}
	for j := range ix.Offerings {
		o := &ix.Offerings[j]
		if reserved := o.Source.CapacityType == api.CapacityTypeReserved; reserved != ix.Stocked.Has(j) ||
			reserved != (o.Stock >= 0) {
			t.Errorf("%s: reservation %d, in the set: %v", describe(ix, j), o.Stock, ix.Stocked.Has(j))
			continue
		}
		if o.Stock >= 0 {
			capacity[o.Source.ReservationID] = ix.Stocks[o.Stock].Left
		}
	}
	if want := map[string]int{"cr-1": 3, "cr-2": 5}; !maps.Equal(capacity, want) || len(ix.Stocks) != 2 {
		t.Errorf("the capacities are %v, want %v", capacity, want)
	}
}
