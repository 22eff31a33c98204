package claims_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/claims"
	"github.com/whittle-dev/whittle/shared/planner/stagetest"
)

const (
	onDemand = api.CapacityTypeOnDemand
	spot     = api.CapacityTypeSpot
	typeKey  = corev1.LabelInstanceTypeStable
)

// TestAlternatives plans a node for one pod of three cores, and checks the offerings of its claim.
func TestAlternatives(t *testing.T) {
	exotic := stagetest.Type("metal", 4, 16, 0.3, "a")
	exotic.Exotic = true
	reserved := stagetest.Type("medium", 4, 16, 0.2, "a")
	reserved.Offerings = append([]catalog.Offering{{
		CapacityType: api.CapacityTypeReserved, Zone: "a", ReservationID: "cr-1", ReservationCapacity: 1,
		Price: 0.001, Available: true,
	}}, reserved.Offerings...)
	tests := []struct {
		name    string
		types   []catalog.InstanceType
		changes []func(*corev1.Pod)
		want    string
	}{
		{
			name:  "all that hold the pod, cheapest first",
			types: threeSizes(),
			want:  "medium/a/on-demand medium/b/on-demand large/a/on-demand large/b/on-demand",
		},
		{
			name:    "the pod's zone",
			types:   threeSizes(),
			changes: []func(*corev1.Pod){stagetest.InZone("b")},
			want:    "medium/b/on-demand large/b/on-demand",
		},
		{
			name: "spot that costs more than on-demand is dropped",
			types: []catalog.InstanceType{
				stagetest.OnSpot(stagetest.Type("medium", 4, 16, 0.2, "a"), 0.1),
				stagetest.OnSpot(stagetest.Type("large", 8, 32, 0.4, "a"), 0.3),
			},
			want: "medium/a/spot",
		},
		{
			name: "spot beside dearer on-demand",
			types: []catalog.InstanceType{
				stagetest.OnSpot(stagetest.Type("medium", 4, 16, 0.2, "a"), 0.1),
				stagetest.OnSpot(stagetest.Type("large", 8, 32, 0.4, "a"), 0.15),
			},
			want: "medium/a/spot large/a/spot",
		},
		{
			name: "on-demand that is cheaper than spot",
			types: []catalog.InstanceType{
				stagetest.Type("medium", 4, 16, 0.2, "a"),
				stagetest.OnSpot(stagetest.Type("large", 8, 32, 0.4, "a"), 0.3),
			},
			want: "medium/a/on-demand large/a/on-demand",
		},
		{
			name:  "no exotic types",
			types: append(threeSizes(), exotic),
			want:  "medium/a/on-demand medium/b/on-demand large/a/on-demand large/b/on-demand",
		},
		{
			name:  "one reservation",
			types: []catalog.InstanceType{reserved, stagetest.Type("large", 8, 32, 0.4, "a")},
			want:  "medium/a/reserved",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			claim := write(t, stagetest.Snapshot(test.types, stagetest.Pod("a", "3", "1Gi", test.changes...)))[0]
			if got := choicesOf(&claim); got != test.want {
				t.Errorf("the offerings are\n%s, want\n%s", got, test.want)
			}
			if claim.PricePerHour != claim.Offerings[0].Price {
				t.Errorf("the price is %v, want %v of the first offering", claim.PricePerHour, claim.Offerings[0].Price)
			}
			for _, o := range claim.Offerings {
				if !slices.Contains(claim.InstanceTypes, o.InstanceType) {
					t.Errorf("the types %v lack %s", claim.InstanceTypes, o.InstanceType)
				}
			}
		})
	}
}

// TestRequirementsLetNoOtherIn wants a small type in zone a or a medium one in zone b. Lists of
// both would also allow the small type in zone b, so the claim keeps one.
func TestRequirementsLetNoOtherIn(t *testing.T) {
	either := func(p *corev1.Pod) {
		term := func(typ, inZone string) corev1.NodeSelectorTerm {
			return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: typeKey, Operator: corev1.NodeSelectorOpIn, Values: []string{typ}},
				{Key: zone, Operator: corev1.NodeSelectorOpIn, Values: []string{inZone}},
			}}
		}
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{term("small", "a"), term("medium", "b")},
			},
		}}
	}
	claim := write(t, stagetest.Snapshot(threeSizes(), stagetest.Pod("a", "1", "1Gi", either)))[0]
	if got := choicesOf(&claim); got != "small/a/on-demand" {
		t.Errorf("the offerings are %s, want small/a/on-demand", got)
	}
	if types, zones := valuesOf(t, &claim, typeKey), valuesOf(t, &claim, zone); types != "small" || zones != "a" {
		t.Errorf("the requirements allow the types %s in the zones %s, want small in a", types, zones)
	}
}

// TestDaemonSetsLetNoOtherIn has a DaemonSet that takes 2.5 cores of the nodes in zone b. The small
// type has no room for it there, so a claim with the small type allows zone a alone.
func TestDaemonSetsLetNoOtherIn(t *testing.T) {
	s := stagetest.Snapshot(threeSizes(), stagetest.Pod("a", "1", "1Gi"))
	var agent appsv1.DaemonSet
	agent.Name, agent.Namespace = "agent", "default"
	agent.Spec.Template.Spec = stagetest.Pod("agent", "2500m", "1Gi", stagetest.InZone("b")).Spec
	s.DaemonSets = []appsv1.DaemonSet{agent}
	claim := write(t, s)[0]
	if got := choicesOf(&claim); got != "small/a/on-demand medium/a/on-demand large/a/on-demand" {
		t.Errorf("the offerings are %s, want all types in zone a", got)
	}
	if zones := valuesOf(t, &claim, zone); zones != "a" {
		t.Errorf("the requirements allow the zones %s, want a", zones)
	}
}

// manyTypes are equal types in one zone, at prices that rise by 10 cents from $1.
func manyTypes(count int) []catalog.InstanceType {
	var list []catalog.InstanceType
	for i := range count {
		list = append(list, stagetest.Type(fmt.Sprintf("type-%02d", i), 4, 16, 1+float64(i)/10, "a"))
	}
	return list
}

func TestClaimKeepsTheCheapestTypes(t *testing.T) {
	claim := write(t, stagetest.Snapshot(manyTypes(claims.MaximumTypes+10), stagetest.Pod("a", "3", "1Gi")))[0]
	if len(claim.InstanceTypes) != claims.MaximumTypes || claim.InstanceTypes[claims.MaximumTypes-1] != "type-59" {
		t.Errorf("the claim keeps the %d types %v, want the 60 cheapest", len(claim.InstanceTypes), claim.InstanceTypes)
	}
}

// TestSpotPrices checks that a spot claim keeps the types that cost at most 1.5 times the cheapest,
// and more of them up to plan.MinimumSpotTypes.
func TestSpotPrices(t *testing.T) {
	tests := []struct {
		step float64
		want int
	}{
		{step: 0.02, want: 26}, // The prices are 1, 1.02 and so on to 1.5.
		{step: 0.1, want: plan.MinimumSpotTypes},
	}
	for _, test := range tests {
		var types []catalog.InstanceType
		for i := range 40 {
			typ := stagetest.Type(fmt.Sprintf("type-%02d", i), 4, 16, 10, "a")
			types = append(types, stagetest.OnSpot(typ, 1+float64(i)*test.step))
		}
		claim := write(t, stagetest.Snapshot(types, stagetest.Pod("a", "3", "1Gi")))[0]
		if len(claim.InstanceTypes) != test.want {
			t.Errorf("steps of %v: the claim keeps %d types, want %d", test.step, len(claim.InstanceTypes), test.want)
		}
	}
}

// TestLimitsBoundAlternatives plans two nodes of 4 cores. Each claim may become the greatest type
// that it allows, and together they must stay within the NodePool's limit.
func TestLimitsBoundAlternatives(t *testing.T) {
	tests := []struct{ limit, first, second string }{
		{limit: "8", first: "medium", second: "medium"},
		{limit: "12", first: "medium large", second: "medium"},
		{limit: "15", first: "medium large", second: "medium"},
		{limit: "16", first: "medium large", second: "medium large"},
	}
	for _, test := range tests {
		t.Run(test.limit, func(t *testing.T) {
			s := stagetest.Snapshot(threeSizes(), stagetest.Pod("a", "3", "1Gi"), stagetest.Pod("b", "3", "1Gi"))
			s.NodePools[0].Spec.Limits = api.Limits{corev1.ResourceCPU: resource.MustParse(test.limit)}
			list := write(t, s)
			first, second := strings.Join(list[0].InstanceTypes, " "), strings.Join(list[1].InstanceTypes, " ")
			if first != test.first || second != test.second {
				t.Errorf("the claims keep %q and %q, want %q and %q", first, second, test.first, test.second)
			}
		})
	}
}
