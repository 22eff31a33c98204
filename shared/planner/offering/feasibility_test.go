package offering_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/stagetest"
	"github.com/whittle-dev/whittle/shared/planner/workload"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

const team = "example.com/team"

// selecting sets node selector labels, given as key and value in turn.
func selecting(labels ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.NodeSelector = map[string]string{}
		for i := 0; i < len(labels); i += 2 {
			p.Spec.NodeSelector[labels[i]] = labels[i+1]
		}
	}
}

// anyOf sets required node affinity. A node has to meet one of the terms.
func anyOf(terms ...map[string]string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		var selector corev1.NodeSelector
		for _, labels := range terms {
			var term corev1.NodeSelectorTerm
			for key, value := range labels {
				term.MatchExpressions = append(term.MatchExpressions, corev1.NodeSelectorRequirement{
					Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value},
				})
			}
			selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, term)
		}
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &selector,
		}}
	}
}

func tolerating(p *corev1.Pod) {
	p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
}

// groupOf is the pod group that has the pod of this name.
func groupOf(t *testing.T, ix *offering.Index, pod string) *workload.Group {
	t.Helper()
	for _, g := range ix.Work.Groups {
		if g.Pod().Name == pod {
			return g
		}
	}
	t.Fatalf("no group has the pod %q", pod)
	return nil
}

// feasibilityOf is the feasibility of the group that has the pod of this name.
func feasibilityOf(t *testing.T, ix *offering.Index, pod string) *offering.Feasibility {
	t.Helper()
	g := groupOf(t, ix, pod)
	return ix.FeasibilityFor(g, g.Alternatives, g.Need)
}

// TestFeasibleOfCatalogue compares the feasible offerings of the whole catalogue with the definition,
// one offering at a time.
func TestFeasibleOfCatalogue(t *testing.T) {
	tainted := func(p *api.NodePool) {
		p.Spec.Template.Spec.Taints = []corev1.Taint{{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}}
	}
	type offer struct {
		*offering.PoolType
		source *catalog.Offering
	}
	in := func(o offer, key, value string) bool { return o.Type.Requirements[key].Has(value) }
	plain := func(o offer) bool { return o.Pool.Name() == "plain" }
	tests := []struct {
		name, cpu, memory string
		change            func(*corev1.Pod)
		feasible          func(offer) bool
	}{
		{"small", "100m", "128Mi", selecting(), plain},
		{"large", "24", "100Gi", selecting(), plain},
		{"huge", "9999", "1Gi", selecting(), func(offer) bool { return false }},
		{"arm", "1", "1Gi", selecting(corev1.LabelArchStable, "arm64"), func(o offer) bool {
			return plain(o) && in(o, corev1.LabelArchStable, "arm64")
		}},
		{"zonal-spot", "1", "1Gi", selecting(zone, "us-east-1c", api.CapacityTypeLabelKey, "spot"), func(o offer) bool {
			return plain(o) && o.source.Zone == "us-east-1c" && o.source.CapacityType == "spot"
		}},
		{"family", "1", "1Gi", selecting(api.LabelInstanceFamily, "m7i"), func(o offer) bool {
			return plain(o) && strings.HasPrefix(o.Type.Name, "m7i.")
		}},
		{"either", "1", "1Gi", anyOf(map[string]string{instanceType: "m7i.large"}, map[string]string{zone: "us-east-1a"}),
			func(o offer) bool { return plain(o) && (o.Type.Name == "m7i.large" || o.source.Zone == "us-east-1a") }},
		{"tolerating", "1", "1Gi", tolerating, func(offer) bool { return true }},
		{"tainted-pool", "1", "1Gi", func(p *corev1.Pod) {
			tolerating(p)
			selecting(api.NodePoolLabelKey, "tainted")(p)
		}, func(o offer) bool { return !plain(o) }},
		{"unknown-label", "1", "1Gi", selecting(team, "red"), func(offer) bool { return false }},
	}
	s := catalogue(t, stagetest.Pool("plain"), stagetest.Pool("tainted", tainted))
	for _, test := range tests {
		s.Pods = append(s.Pods, stagetest.Pod(test.name, test.cpu, test.memory, test.change))
	}
	ix := build(s)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := groupOf(t, ix, test.name)
			feasible, _ := ix.OfferingsFor(g, g.Alternatives, g.Need)
			requests := g.Pod().Spec.Containers[0].Resources.Requests
			n := len(ix.Offerings)
			want, room, withRoom := dense.NewSet(n), dense.NewSet(n), dense.NewSet(n)
			for j := range ix.Offerings {
				room.Add(j)
				pt := ix.PoolTypeOf(j)
				if pt.Type.Allocatable.Cpu().Cmp(*requests.Cpu()) < 0 ||
					pt.Type.Allocatable.Memory().Cmp(*requests.Memory()) < 0 {
					continue
				}
				withRoom.Add(j)
				if test.feasible(offer{pt, ix.Offerings[j].Source}) {
					want.Add(j)
				}
			}
			ix.KeepRoom(room, g.Need)
			equal(t, "the offerings with room", described(ix, room), described(ix, withRoom))
			equal(t, "the feasible offerings", described(ix, feasible), described(ix, want))
			if has := ix.HasOfferingFor(g, g.Alternatives, g.Need); has == want.Empty() {
				t.Errorf("HasOfferingFor is %v", has)
			}
			labels := ix.Feasibilities.LabelsFor(g, g.Alternatives, g.Need).Offerings
			if got := ix.CheapestWithRoom(labels, g.Need); got != want.First() {
				t.Errorf("the cheapest offering is %d, want %d", got, want.First())
			}
		})
	}
}

// TestExactFit checks that a node holds a pod that takes all of it, and nothing larger.
func TestExactFit(t *testing.T) {
	var types []catalog.InstanceType
	for cores := range int64(100) {
		types = append(types, stagetest.Type(fmt.Sprintf("t%03d", cores+1), cores+1, 4, 0.01*float64(cores+1), "a"))
	}
	ix := build(stagetest.Snapshot(types, stagetest.Pod("exact", "70", "4Gi"), stagetest.Pod("more", "70001m", "4Gi")))
	for _, test := range []struct {
		pod      string
		cheapest string
	}{{"exact", "default/t070/a/on-demand"}, {"more", "default/t071/a/on-demand"}} {
		g := groupOf(t, ix, test.pod)
		feasible, _ := ix.OfferingsFor(g, g.Alternatives, g.Need)
		if got := describe(ix, feasible.First()); got != test.cheapest {
			t.Errorf("%s: the cheapest offering is %s, want %s", test.pod, got, test.cheapest)
		}
	}
}

// TestExotic checks that the plan may buy exotic types only in tiers where nothing else has room.
func TestExotic(t *testing.T) {
	gpu := stagetest.Type("gpu", 8, 32, 0.1, "a")
	gpu.Exotic = true
	types := []catalog.InstanceType{gpu, stagetest.Type("small", 2, 8, 0.2, "a")}
	s := stagetest.Snapshot(types, stagetest.Pod("fits-both", "1", "1Gi"), stagetest.Pod("fits-gpu", "4", "1Gi"))
	s.NodePools = append(s.NodePools, stagetest.Pool("heavy", weighing(5)))
	s.InstanceTypes["heavy"] = types[:1]
	ix := build(s)
	for _, test := range []struct {
		pod     string
		buyable []string
	}{
		{"fits-both", []string{"heavy/gpu/a/on-demand", "default/small/a/on-demand"}},
		{"fits-gpu", []string{"heavy/gpu/a/on-demand", "default/gpu/a/on-demand", "default/small/a/on-demand"}},
	} {
		f := feasibilityOf(t, ix, test.pod)
		equal(t, test.pod, described(ix, f.Buyable), test.buyable)
		if again := feasibilityOf(t, ix, test.pod); again != f {
			t.Errorf("%s: a second feasibility", test.pod)
		}
	}
	// The label feasibility ignores the size, so both groups share it.
	both, one := feasibilityOf(t, ix, "fits-both"), feasibilityOf(t, ix, "fits-gpu")
	if both.LabelFeasibility != one.LabelFeasibility {
		t.Error("groups that ask for the same labels do not share a label feasibility")
	}
}

// teamSnapshot has a NodePool that leaves the label team open between red and green.
func teamSnapshot(pods ...corev1.Pod) *plan.Snapshot {
	arm := stagetest.Type("arm", 4, 16, 0.1, "a")
	arm.Requirements[corev1.LabelArchStable] = scheduling.In(corev1.LabelArchStable, "arm64")
	s := stagetest.Snapshot([]catalog.InstanceType{arm, stagetest.Type("amd", 4, 16, 0.2, "a")}, pods...)
	requiring(team, corev1.NodeSelectorOpIn, "red", "green")(&s.NodePools[0])
	return s
}

// TestResolve checks how the pods on a node decide the value of a label that its pool leaves open.
func TestResolve(t *testing.T) {
	ix := build(teamSnapshot(stagetest.Pod("red", "1", "1Gi", selecting(team, "red")),
		stagetest.Pod("green", "1", "1Gi", selecting(team, "green")), stagetest.Pod("any", "1", "1Gi"),
		stagetest.Pod("also-red", "2", "1Gi", selecting(team, "red", zone, "a"))))
	for _, test := range []struct {
		pods  []string
		value string // empty where the pods cannot share a node
	}{
		{[]string{"red"}, "red"},
		{[]string{"red", "any"}, "red"},
		{[]string{"any", "green"}, "green"},
		{[]string{"red", "also-red"}, "red"},
		{[]string{"red", "green"}, ""},
		{[]string{"green", "any", "also-red"}, ""},
	} {
		var labels *offering.ResolvedLabels
		ok := true
		for _, pod := range test.pods {
			if labels, ok = ix.Resolve(labels, 0, feasibilityOf(t, ix, pod)); !ok {
				break
			}
		}
		if value, _ := labels.Labels()[team].Single(); ok != (test.value != "") || ok && value != test.value {
			t.Errorf("%v: resolved to %q, compatible: %v, want %q", test.pods, value, ok, test.value)
		}
	}
	red, _ := ix.Resolve(nil, 0, feasibilityOf(t, ix, "red"))
	again, _ := ix.Resolve(red, 0, feasibilityOf(t, ix, "also-red"))
	if again != red {
		t.Error("equal resolved labels have two values")
	}
	if none, ok := ix.Resolve(nil, 0, feasibilityOf(t, ix, "any")); !ok || none != nil {
		t.Error("a pod without a label decides one")
	}
	if !ix.Pools[0].IsOpen(team) || ix.Pools[0].IsOpen(corev1.LabelArchStable) || ix.Pools[0].IsOpen(zone) {
		t.Error("team alone is an open label of the pool")
	}
	fixed := teamSnapshot(stagetest.Pod("red", "1", "1Gi", selecting(team, "red")))
	fixed.NodePools[0].Spec.Template.Labels = map[string]string{team: "red"}
	ix = build(fixed)
	if labels, ok := ix.Resolve(nil, 0, feasibilityOf(t, ix, "red")); ix.Pools[0].IsOpen(team) || !ok || labels != nil {
		t.Errorf("pods decide the label %v, which the pool decides", labels.Labels())
	}
}

// TestFollowOneAlternative checks that new nodes follow the cheapest alternative where alternatives
// decide an open label, and that other alternatives go together.
func TestFollowOneAlternative(t *testing.T) {
	redArm := map[string]string{team: "red", corev1.LabelArchStable: "arm64"}
	greenAMD := map[string]string{team: "green", corev1.LabelArchStable: "amd64"}
	ix := build(teamSnapshot(
		stagetest.Pod("by-team", "1", "1Gi", anyOf(redArm, greenAMD)),
		stagetest.Pod("by-team-reversed", "2", "1Gi", anyOf(greenAMD, redArm)),
		stagetest.Pod("by-arch", "1", "1Gi",
			anyOf(map[string]string{corev1.LabelArchStable: "arm64"}, map[string]string{corev1.LabelArchStable: "amd64"}))))
	arm, amd := "default/arm/a/on-demand", "default/amd/a/on-demand"
	for _, test := range []struct {
		pod       string
		one       bool
		offerings []string
	}{
		{"by-team", true, []string{arm}},
		{"by-team-reversed", true, []string{arm}},
		{"by-arch", false, []string{arm, amd}},
	} {
		g := groupOf(t, ix, test.pod)
		if one := ix.Feasibilities.FollowsOneAlternative(g, g.Alternatives); one != test.one {
			t.Errorf("%s: follows one alternative: %v", test.pod, one)
		}
		l := ix.Feasibilities.LabelsFor(g, g.Alternatives, g.Need)
		equal(t, test.pod, described(ix, l.Offerings), test.offerings)
		equal(t, test.pod+" by any alternative", described(ix, *l.AnyAlternative), []string{arm, amd})
		if value, _ := l.Resolves[ix.Pools[0]][team].Single(); test.one != (value == "red") {
			t.Errorf("%s: resolves the team to %q", test.pod, value)
		}
	}
}

// TestNarrow checks that equal questions get one pointer, and the answer of Alternatives.Narrow.
func TestNarrow(t *testing.T) {
	ix := build(teamSnapshot(stagetest.Pod("p", "1", "1Gi", anyOf(map[string]string{zone: "a"}, map[string]string{zone: "b"}))))
	g := groupOf(t, ix, "p")
	a := ix.Feasibilities.Narrow(g.Alternatives, scheduling.In(zone, "a"))
	if again := ix.Feasibilities.Narrow(g.Alternatives, ix.Feasibilities.In(zone, "a")); again != a {
		t.Error("the second answer is another pointer")
	}
	if value, ok := a.SingleValue(zone); a.Len() != 1 || !ok || value != "a" {
		t.Errorf("%d alternatives, zone %q", a.Len(), value)
	}
	if c := ix.Feasibilities.Narrow(g.Alternatives, scheduling.In(zone, "c")); c != nil {
		t.Errorf("%d alternatives allow zone c", c.Len())
	}
	var none *offering.Feasibilities
	if b := none.Narrow(g.Alternatives, scheduling.In(zone, "b")); b.Len() != 1 {
		t.Errorf("nil gives %d alternatives", b.Len())
	}
}

// TestDomains checks the values of topology keys that new nodes may have.
func TestDomains(t *testing.T) {
	s := teamSnapshot()
	s.InstanceTypes["default"] = append(s.InstanceTypes["default"], stagetest.Type("other", 4, 16, 0.3, "b"))
	ix := build(s)
	for _, test := range []struct {
		key  string
		want []string
	}{
		{zone, []string{"a:default/arm/a/on-demand,default/amd/a/on-demand", "b:default/other/b/on-demand"}},
		{corev1.LabelArchStable, []string{
			"amd64:default/amd/a/on-demand,default/other/b/on-demand", "arm64:default/arm/a/on-demand",
		}},
		{"example.com/nobody-has-it", nil},
	} {
		var got []string
		for _, d := range ix.Feasibilities.Domains(test.key) {
			got = append(got, d.Value+":"+strings.Join(described(ix, d.Offerings), ","))
			if !d.Listed {
				t.Errorf("%s=%s is listed nowhere", test.key, d.Value)
			}
		}
		equal(t, test.key, got, test.want)
	}
}

// TestProduct checks which offerings a claim allows that lists types and zones.
func TestProduct(t *testing.T) {
	types := []catalog.InstanceType{stagetest.Type("x", 2, 8, 0.1, "a", "b"), stagetest.Type("y", 2, 8, 0.2, "a", "b")}
	ix := build(stagetest.Snapshot(types))
	xa, xb, ya, yb := 0, 1, 2, 3
	equal(t, "the offerings", allOf(ix), []string{
		"default/x/a/on-demand", "default/x/b/on-demand", "default/y/a/on-demand", "default/y/b/on-demand",
	})
	set := func(offerings ...int) dense.Set {
		s := dense.NewSet(len(ix.Offerings))
		for _, j := range offerings {
			s.Add(j)
		}
		return s
	}
	for _, test := range []struct {
		added  []int
		within dense.Set
		want   bool
	}{
		{nil, set(), true},
		{[]int{xa}, set(xa), true},
		{[]int{xa, xb}, set(xa, xb), true},
		{[]int{xa, yb}, set(xa, yb), false}, // The lists allow y in zone a, too.
		{[]int{xa, yb}, set(xa, xb, ya, yb), true},
		{[]int{ya}, set(xa, xb, yb), false},
	} {
		p := offering.NewProduct(ix, ix.Pools[0])
		before := p.Clone()
		for _, j := range test.added {
			p.Add(j)
		}
		if got := p.Within(test.within); got != test.want {
			t.Errorf("the product of %v is within %v: %v", test.added, described(ix, test.within), got)
		}
		if !before.Within(set()) {
			t.Errorf("adding %v has changed a clone", test.added)
		}
	}
}

// TestMinValues checks whether offerings have enough values of a label.
func TestMinValues(t *testing.T) {
	two := 2
	s := stagetest.Snapshot([]catalog.InstanceType{
		stagetest.Type("x", 2, 8, 0.1, "a", "b"), stagetest.Type("y", 2, 8, 0.2, "a"),
	})
	s.NodePools[0].Spec.Template.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{
		{Key: instanceType, Operator: corev1.NodeSelectorOpExists, MinValues: &two},
		{Key: zone, Operator: corev1.NodeSelectorOpExists, MinValues: &two},
	}
	ix := build(s)
	xa, xb, ya := 0, 1, 2
	for _, test := range []struct {
		offerings []int
		want      bool
	}{
		{nil, false}, {[]int{xa, xb}, false}, {[]int{xa, ya}, false}, {[]int{xb, ya}, true}, {[]int{xa, xb, ya}, true},
	} {
		if got := ix.MeetsMinValues(ix.Pools[0], slices.Values(test.offerings)); got != test.want {
			t.Errorf("%v meets minValues: %v", test.offerings, got)
		}
	}
	if !ix.StrictMinValues(ix.Pools[0]) || ix.BestEffortMinValues() {
		t.Error("minValues are not strict by default")
	}
	s.MinValuesPolicy = plan.MinValuesBestEffort
	if ix := build(s); ix.StrictMinValues(ix.Pools[0]) || !ix.BestEffortMinValues() {
		t.Error("minValues are strict with the policy BestEffort")
	}
}

// TestAnyValue checks that a value is found which the requirement allows.
func TestAnyValue(t *testing.T) {
	gte := func(value string) scheduling.Requirement {
		terms := []api.NodeSelectorRequirementWithMinValues{
			{Key: "k", Operator: corev1.NodeSelectorOpGt, Values: []string{value}},
			{Key: "k", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"8", "9"}},
		}
		requirements, err := scheduling.FromTerms(terms)
		if err != nil {
			t.Fatal(err)
		}
		return requirements["k"]
	}
	for _, test := range []struct {
		name  string
		r     scheduling.Requirement
		value string
	}{
		{"a list", scheduling.In("k", "b", "a"), "a"},
		{"an empty list", scheduling.In("k"), ""},
		{"any value", scheduling.Exists("k"), "true"},
		{"absence", scheduling.DoesNotExist("k"), ""},
		{"absence is allowed", scheduling.NotIn("k", "a"), ""},
		{"greater than 7, without 8 and 9", gte("7"), "10"},
	} {
		value, ok := offering.AnyValue(test.r)
		if value != test.value || ok != (test.value != "") {
			t.Errorf("%s: %q, %v, want %q", test.name, value, ok, test.value)
		}
	}
}
