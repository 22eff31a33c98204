package consolidation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/consolidation/consolidationtest"
	"github.com/whittle-dev/whittle/shared/consolidation/settings"
)

// without gives the types with the offerings unavailable that the function names.
func without(
	types []catalog.InstanceType,
	out func(*catalog.InstanceType, *catalog.Offering) bool,
) []catalog.InstanceType {
	types = slices.Clone(types)
	for i := range types {
		types[i].Offerings = slices.Clone(types[i].Offerings)
		for j := range types[i].Offerings {
			if out(&types[i], &types[i].Offerings[j]) {
				types[i].Offerings[j].Available = false
			}
		}
	}
	return types
}

func TestAnEmptyNodeGoesWithoutAReplacement(t *testing.T) {
	s := cluster(someTypes(t, 8), api.CapacityTypeOnDemand)
	s.NodePools[0].Spec.Disruption.ConsolidationPolicy = api.ConsolidationPolicyWhenEmpty
	addNode(t, s, "empty", "m5.large", api.CapacityTypeOnDemand)
	addNode(t, s, "used", "m5.4xlarge", api.CapacityTypeOnDemand, 100)
	p := solve(s)
	if len(p.Moves) != 1 || p.Moves[0].Reason != api.DisruptionReasonEmpty || p.Moves[0].Delete[0].Node != "empty" ||
		len(p.Moves[0].Launch) > 0 {
		t.Fatalf("moves %+v", p.Moves)
	}
	if stay := stayOf(t, p, "used"); stay.Because != consolidation.Policy {
		t.Errorf("used stays because %+v", stay)
	}
}

func TestOnDemandNodesGoBackToSpotWhenTheShortageHasEnded(t *testing.T) {
	types := someTypes(t, 1)
	short := without(
		types,
		func(_ *catalog.InstanceType, o *catalog.Offering) bool { return o.CapacityType == api.CapacityTypeSpot },
	)
	for _, test := range []struct {
		name  string
		types []catalog.InstanceType
		moves int
	}{{"during the shortage they stay", short, 0}, {"after it they are replaced", types, 1}} {
		t.Run(test.name, func(t *testing.T) {
			s := cluster(test.types, api.CapacityTypeSpot, api.CapacityTypeOnDemand)
			cheapest, offering, _ := catalog.Cheapest(
				slices.DeleteFunc(
					slices.Clone(short),
					func(t catalog.InstanceType) bool { return t.Allocatable.Cpu().MilliValue() < 1900 },
				),
				nil,
			)
			if offering.CapacityType != api.CapacityTypeOnDemand {
				t.Fatalf("the cheapest is %s", offering.CapacityType)
			}
			addNode(t, s, "bought", cheapest, api.CapacityTypeOnDemand, 1800)
			p := solve(s)
			if len(p.Moves) != test.moves {
				t.Fatalf("%d moves, want %d: %+v", len(p.Moves), test.moves, p.Stays)
			}
			for _, move := range p.Moves {
				if move.Launch[0].Offerings[0].CapacityType != api.CapacityTypeSpot || move.SavedAtLeast < 0 {
					t.Errorf("launches %+v, saves $%f at least", move.Launch[0].Offerings[0], move.SavedAtLeast)
				}
			}
		})
	}
}

func TestSpotNodesKeepAlternatives(t *testing.T) {
	types := someTypes(t, 1)
	for _, left := range []int{14, 15, 1000} {
		t.Run(fmt.Sprint(left), func(t *testing.T) {
			// So many of the types that hold the pod are available as spot.
			kept := map[string]bool{}
			few := without(types, func(typ *catalog.InstanceType, o *catalog.Offering) bool {
				if o.CapacityType == api.CapacityTypeSpot && typ.Allocatable.Cpu().MilliValue() >= 1500 &&
					typ.Allocatable.Memory().Value() >= 1600<<20 &&
					len(kept) < left &&
					o.Price < 0.15 {
					kept[typ.Name] = true
				}
				return !kept[typ.Name]
			})
			s := cluster(few, api.CapacityTypeSpot)
			addNode(t, s, "dear", "m5.4xlarge", api.CapacityTypeSpot, 1500)
			p := solve(s)
			if left < 15 {
				if stay := stayOf(t, p, "dear"); !strings.Contains(stay.Message, "there are 14") {
					t.Errorf("it stays because %+v", stay)
				}
				return
			}
			if len(p.Moves) != 1 {
				t.Fatalf("no move: %+v", p.Stays)
			}
			if n := len(p.Moves[0].Launch[0].InstanceTypes); n != 15 {
				t.Errorf("launched from %d types", n)
			}
		})
	}
}

// TestNoLaunchIsDearerThanTheDeletedNodes reads the claims' requirements, not only the prices in
// the plan.
func TestNoLaunchIsDearerThanTheDeletedNodes(t *testing.T) {
	s := cluster(someTypes(t, 2), api.CapacityTypeOnDemand)
	for i := range 6 {
		addNode(t, s, fmt.Sprintf("n%d", i), "m5.2xlarge", api.CapacityTypeOnDemand, 1000, 1100)
	}
	p := solve(s)
	if len(p.Moves) == 0 {
		t.Fatalf("nothing moves: %+v", p.Stays)
	}
	for _, move := range p.Moves {
		gone, come := 0.0, 0.0
		for _, leaving := range move.Delete {
			gone += leaving.PricePerHour
		}
		for _, launch := range move.Launch {
			most := 0.0
			for _, r := range launch.NodeClaim.Spec.Requirements {
				if r.Key != corev1.LabelInstanceTypeStable {
					continue
				}
				for _, typ := range s.InstanceTypes["default"] {
					if slices.Contains(r.Values, typ.Name) {
						for _, o := range typ.Offerings {
							if o.CapacityType == api.CapacityTypeOnDemand && o.Available {
								most = max(most, o.Price)
							}
						}
					}
				}
			}
			come += most
		}
		if come > gone+1e-6 || move.SavedAtLeast < -1e-6 {
			t.Errorf("nodes of $%f an hour are replaced by ones of $%f at most", gone, come)
		}
	}
}

// TestMovesThatAreTheFirstWaitForNothing has pods that are spread over racks of one node by 2, 1, 1
// and 1. All in one rack is allowed, and so is 2, 2 and 1. The first step towards one rack, 3, 1
// and 1, is not.
func TestMovesThatAreTheFirstWaitForNothing(t *testing.T) {
	s := cluster(someTypes(t, 8), api.CapacityTypeOnDemand)
	addNode(t, s, "n0", "m5.large", api.CapacityTypeOnDemand, 200, 200)
	for _, name := range []string{"n1", "n2", "n3"} {
		addNode(t, s, name, "m5.large", api.CapacityTypeOnDemand, 200)
	}
	for i := range s.Nodes {
		s.Nodes[i].Node.Labels["example.com/rack"] = s.Nodes[i].Node.Name
		for j := range s.Nodes[i].Pods {
			pod := &s.Nodes[i].Pods[j]
			pod.Labels = map[string]string{"app": "spread"}
			pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: "example.com/rack", WhenUnsatisfiable: corev1.DoNotSchedule,
				LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels},
			}}
		}
	}
	p := consolidation.Solve(&consolidation.Input{Cluster: s, Now: now})
	if len(p.Moves) == 0 {
		t.Errorf("no move begins, and %d wait", len(p.Waiting))
	}
	for run := 0; len(p.Moves) > 0 && run < 5; run++ {
		s = carryOut(t, s, p.Moves, fmt.Sprint("run-", run), now.Add(time.Duration(run)*time.Hour))
		p = consolidation.Solve(&consolidation.Input{Cluster: s, Now: now.Add(time.Duration(run+1) * time.Hour)})
	}
	if len(s.Nodes) > 3 {
		t.Errorf("%d nodes are left", len(s.Nodes))
	}
}

func TestBudgetsTakeTheBestFirst(t *testing.T) {
	s := cluster(someTypes(t, 8), api.CapacityTypeOnDemand)
	addNode(t, s, "big", "m5.4xlarge", api.CapacityTypeOnDemand, 100)
	for i := range 4 {
		addNode(t, s, fmt.Sprintf("small-%d", i), "m5.large", api.CapacityTypeOnDemand, 100)
	}
	addNode(t, s, "empty", "m5.large", api.CapacityTypeOnDemand)
	for _, test := range []struct {
		allowed consolidation.Allowance
		gone    int
	}{
		{consolidation.Allowance{}, 0},
		{consolidation.Allowance{Empty: 1}, 1},
		{consolidation.Allowance{Empty: 2, Underutilized: 2}, 2},
		{consolidation.Allowance{Empty: 100, Underutilized: 100}, 6},
	} {
		p := consolidation.Solve(
			&consolidation.Input{Cluster: s, Allowed: map[string]consolidation.Allowance{"default": test.allowed}, Now: now},
		)
		gone := 0
		for i, move := range p.Moves {
			gone += len(move.Delete)
			if i > 0 && move.SavingsPerDisturbance() > p.Moves[i-1].SavingsPerDisturbance() {
				t.Errorf("move %d is worth more than the one before", i)
			}
		}
		if gone > test.gone {
			t.Errorf("with %+v there go %d", test.allowed, gone)
		}
		if test.gone > 0 && gone == 0 {
			t.Errorf("with %+v nothing goes", test.allowed)
		}
		if test.gone == 0 && len(p.Waiting) == 0 {
			t.Error("nothing waits for the budget")
		}
	}
}

func TestBalancedRefusesWhatSavesLittleForItsDisturbance(t *testing.T) {
	for _, policy := range []api.ConsolidationPolicy{
		api.ConsolidationPolicyWhenEmptyOrUnderutilized, api.ConsolidationPolicyBalanced,
	} {
		s := cluster(someTypes(t, 8), api.CapacityTypeOnDemand)
		s.NodePools[0].Spec.Disruption.ConsolidationPolicy = policy
		for i := range 4 {
			addNode(t, s, fmt.Sprintf("dear-%d", i), "m5.4xlarge", api.CapacityTypeOnDemand, 15000)
		}
		// Many small pods are a large part of the pool's disturbance, for a small part of its
		// price.
		addNode(
			t,
			s,
			"busy",
			"m5.xlarge",
			api.CapacityTypeOnDemand,
			20,
			20,
			20,
			20,
			20,
			20,
			20,
			20,
			20,
			20,
			20,
			20,
			20,
			20,
			20,
			20,
			20,
			20,
			20,
			20,
		)
		p := solve(s)
		moves := slices.ContainsFunc(p.Moves, func(m consolidation.Move) bool {
			return slices.ContainsFunc(m.Delete, func(l consolidation.Leaving) bool { return l.Node == "busy" })
		})
		if moves != (policy == api.ConsolidationPolicyWhenEmptyOrUnderutilized) {
			t.Errorf("with %s busy moves: %t", policy, moves)
		}
	}
}

// TestCheckFillsNodesInTheOrderOfSolve has a pod that only one node takes. It fits there if the larger
// pods, which come first, fill the fuller nodes.
func TestCheckFillsNodesInTheOrderOfSolve(t *testing.T) {
	s := cluster(someTypes(t, 8), api.CapacityTypeOnDemand)
	for name, pods := range map[string][]int64{"a": {400}, "b": {1150}, "c": {1150}, "d": {750, 750, 300}} {
		addNode(t, s, name, "m5.large", api.CapacityTypeOnDemand, pods...)
	}
	for i := range s.Nodes {
		node := &s.Nodes[i]
		switch node.Node.Name {
		case "d":
			node.Pods[2].Spec.NodeSelector = map[string]string{"example.com/disk": "fast"}
			continue
		case "a":
			node.Node.Labels["example.com/disk"] = "fast"
		}
		node.Node.Annotations = map[string]string{api.DoNotDisruptAnnotationKey: "true"}
	}
	p := solve(s)
	if len(p.Moves) != 1 || p.Moves[0].Delete[0].Node != "d" {
		t.Fatalf("moves %+v, stays %+v", p.Moves, p.Stays)
	}
	if _, err := consolidation.Check(&consolidation.Input{Cluster: s, Now: now}, []string{"default-d"}); err != nil {
		t.Errorf("the move that Solve finds is rejected: %v", err)
	}
}

func TestCheckValidatesAMove(t *testing.T) {
	s := cluster(someTypes(t, 8), api.CapacityTypeOnDemand)
	for i := range 5 {
		addNode(t, s, fmt.Sprintf("n%d", i), "m5.2xlarge", api.CapacityTypeOnDemand, 700, 900)
	}
	snapshot := &consolidation.Input{Cluster: s, Now: now}
	p := consolidation.Solve(snapshot)
	if len(p.Moves) == 0 {
		t.Fatal("nothing moves")
	}
	var claims []string
	for _, leaving := range p.Moves[0].Delete {
		claims = append(claims, leaving.NodeClaim)
	}
	again, err := consolidation.Check(snapshot, claims)
	if err != nil {
		t.Fatal(err)
	}
	if again.SavedPerHour < p.Moves[0].SavedPerHour/2 || len(again.Delete) != len(claims) ||
		again.Reason != api.DisruptionReasonUnderutilized {
		t.Errorf("proposed %+v, now %+v", p.Moves[0], again)
	}
	if wrong := consolidationtest.CheckMove(s, again); len(wrong) > 0 {
		t.Error(wrong)
	}
	for want, change := range map[string]func(*consolidation.Input){
		"is gone": func(c *consolidation.Input) { c.Cluster.Nodes = nil },
		"annotation": func(c *consolidation.Input) {
			c.Cluster.Nodes[0].Node.Annotations = map[string]string{api.DoNotDisruptAnnotationKey: "true"}
		},
		"budgets":       func(c *consolidation.Input) { c.Allowed = map[string]consolidation.Allowance{} },
		"settles until": func(c *consolidation.Input) { c.Now = now.Add(-22*time.Hour - 55*time.Minute) },
		"would save $0.": func(c *consolidation.Input) {
			c.Cluster.NodePools[0].Annotations = map[string]string{
				settings.MinimumSavingsPercentAnnotationKey: "100", settings.MinimumSavingsAnnotationKey: "9",
			}
		},
	} {
		fresh := cluster(s.InstanceTypes["default"], api.CapacityTypeOnDemand)
		for i := range 5 {
			addNode(t, fresh, fmt.Sprintf("n%d", i), "m5.2xlarge", api.CapacityTypeOnDemand, 700, 900)
		}
		changed := &consolidation.Input{Cluster: fresh, Now: now}
		change(changed)
		if _, err := consolidation.Check(changed, []string{"default-n0", "default-n1"}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
