package claims_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/claims"
	"github.com/whittle-dev/whittle/shared/planner/stagetest"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// requiring adds a requirement to a NodePool. Zero minValues are none.
func requiring(key string, minValues int, operator corev1.NodeSelectorOperator, values ...string) func(*api.NodePool) {
	return func(p *api.NodePool) {
		r := api.NodeSelectorRequirementWithMinValues{Key: key, Operator: operator, Values: values}
		if minValues > 0 {
			r.MinValues = &minValues
		}
		p.Spec.Template.Spec.Requirements = append(p.Spec.Template.Spec.Requirements, r)
	}
}

// TestRequirements checks the requirements and labels of one claim.
func TestRequirements(t *testing.T) {
	s := stagetest.Snapshot(threeSizes(), stagetest.Pod("a", "3", "1Gi", stagetest.InZone("b")))
	s.NodePools[0] = stagetest.Pool("default",
		requiring("example.com/team", 0, corev1.NodeSelectorOpIn, "red", "blue"),
		requiring(corev1.LabelArchStable, 0, corev1.NodeSelectorOpExists))
	s.NodePools[0].Spec.Template.Labels = map[string]string{"example.com/stage": "prod"}
	claim := write(t, s)[0]
	want := map[string]string{
		typeKey:                        "large medium",
		api.CapacityTypeLabelKey:       onDemand,
		zone:                           "b",
		api.NodePoolLabelKey:           "default",
		"example.com/stage":            "prod",
		corev1.LabelArchStable:         "any",
		"example.com/team":             "blue",
		api.LabelCapacityReservationID: "any",
	}
	for key, values := range want {
		if got := valuesOf(t, &claim, key); got != values {
			t.Errorf("the claim allows %q of %s, want %q", got, key, values)
		}
	}
	var keys []string
	for _, term := range claim.NodeClaim.Spec.Requirements {
		keys = append(keys, term.Key)
	}
	if !slices.IsSorted(keys) {
		t.Errorf("the requirements are in the order %v, want them sorted by label", keys)
	}
	for key, value := range map[string]string{
		zone: "b", api.CapacityTypeLabelKey: onDemand, "example.com/team": "blue", "example.com/stage": "prod",
		typeKey: "", corev1.LabelArchStable: "",
	} {
		if got := claim.NodeClaim.Labels[key]; got != value {
			t.Errorf("the label %s is %q, want %q: labels are the values that are certain", key, got, value)
		}
	}
}

// TestReservationIsRequired checks that a claim of reserved capacity names its reservation.
func TestReservationIsRequired(t *testing.T) {
	typ := stagetest.Type("medium", 4, 16, 0.2, "a")
	typ.Offerings = append([]catalog.Offering{{
		CapacityType: api.CapacityTypeReserved, Zone: "a", ReservationID: "cr-1", ReservationCapacity: 1,
		Price: 0.001, Available: true,
	}}, typ.Offerings...)
	list := write(t, stagetest.Snapshot([]catalog.InstanceType{typ},
		stagetest.Pod("a", "3", "1Gi"), stagetest.Pod("b", "3", "1Gi")))
	if got := valuesOf(t, &list[0], api.LabelCapacityReservationID); got != "cr-1" {
		t.Errorf("the first claim requires the reservation %q, want cr-1", got)
	}
	if got := valuesOf(t, &list[1], api.LabelCapacityReservationID); got != "any" {
		t.Errorf("the second claim requires the reservation %q, and none is left", got)
	}
}

// TestClaimsListAllReservations plans three nodes beside two reservations. A claim lists each
// reservation that has an instance left for it, so that one launch can go on with another one.
func TestClaimsListAllReservations(t *testing.T) {
	typ := stagetest.Type("medium", 4, 16, 0.2, "a", "b")
	for i, id := range []string{"cr-1", "cr-2"} {
		typ.Offerings = append([]catalog.Offering{{
			CapacityType: api.CapacityTypeReserved, Zone: []string{"a", "b"}[i], ReservationID: id,
			ReservationCapacity: 2 - i, Price: 0.001, Available: true,
			Requirements: scheduling.NewRequirements(scheduling.In(api.LabelCapacityReservationID, id)),
		}}, typ.Offerings...)
	}
	for _, test := range []struct {
		pods int
		want []string
	}{
		{1, []string{"cr-1 cr-2"}},
		// The second node may need cr-2's only instance, so no claim may take that too.
		{3, []string{"cr-1", "cr-1", "cr-2"}},
		{4, []string{"cr-1", "cr-1", "cr-2", "any"}},
	} {
		var pods []corev1.Pod
		for i := range test.pods {
			pods = append(pods, stagetest.Pod(fmt.Sprint("p", i), "3", "1Gi"))
		}
		var got []string
		for _, claim := range write(t, stagetest.Snapshot([]catalog.InstanceType{typ}, pods...)) {
			got = append(got, valuesOf(t, &claim, api.LabelCapacityReservationID))
			for _, o := range claim.Offerings {
				if o.CapacityType != claim.Offerings[0].CapacityType {
					t.Errorf("a claim has choices of %s and %s", claim.Offerings[0].CapacityType, o.CapacityType)
				}
			}
		}
		slices.Sort(got)
		slices.Sort(test.want)
		if !slices.Equal(got, test.want) {
			t.Errorf("%d claims require the reservations %q, want %q", test.pods, got, test.want)
		}
	}
}

// TestMinValues plans a node in a NodePool with minValues, and checks what its claim allows.
func TestMinValues(t *testing.T) {
	spotAndMore := []catalog.InstanceType{
		stagetest.OnSpot(stagetest.Type("medium", 4, 16, 0.2, "a"), 0.1),
		stagetest.OnSpot(stagetest.Type("large", 8, 32, 0.4, "a"), 0.3),
	}
	tests := []struct {
		name      string
		types     []catalog.InstanceType
		key       string
		least     int
		policy    plan.MinValuesPolicy
		want      string
		minValues int
		lowered   string
	}{
		{
			name: "instance types need dearer spot", types: spotAndMore, key: typeKey, least: 2,
			want: "medium/a/spot large/a/spot", minValues: 2, lowered: "false",
		},
		{
			name: "both capacity types", types: spotAndMore, key: api.CapacityTypeLabelKey, least: 2,
			want:      "medium/a/spot medium/a/on-demand large/a/spot large/a/on-demand",
			minValues: 2, lowered: "false",
		},
		{
			name: "met by the cheapest", types: threeSizes(), key: zone, least: 2,
			want:      "medium/a/on-demand medium/b/on-demand large/a/on-demand large/b/on-demand",
			minValues: 2, lowered: "false",
		},
		{
			name: "lowered", types: threeSizes(), key: zone, least: 3, policy: plan.MinValuesBestEffort,
			want:      "medium/a/on-demand medium/b/on-demand large/a/on-demand large/b/on-demand",
			minValues: 2, lowered: "true",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := stagetest.Snapshot(test.types, stagetest.Pod("a", "3", "1Gi"))
			s.NodePools[0] = stagetest.Pool("default", requiring(test.key, test.least, corev1.NodeSelectorOpExists))
			s.MinValuesPolicy = test.policy
			claim := write(t, s)[0]
			if got := choicesOf(&claim); got != test.want {
				t.Errorf("the offerings are\n%s, want\n%s", got, test.want)
			}
			if got, ok := requirementsOf(t, &claim)[test.key].MinValues(); !ok || got != test.minValues {
				t.Errorf("the claim requires %d values of %s, want %d", got, test.key, test.minValues)
			}
			if got := claim.NodeClaim.Annotations[api.NodeClaimMinValuesRelaxedAnnotationKey]; got != test.lowered {
				t.Errorf("the annotation is %q, want %q", got, test.lowered)
			}
		})
	}
}

// TestMinValuesShareLimits plans two nodes whose claims each need types of 4 and 8 cores, in a
// NodePool with 16 cores. The first claim must not keep a type of 12 cores, though that fits alone.
func TestMinValuesShareLimits(t *testing.T) {
	types := append(threeSizes(), stagetest.Type("huge", 12, 48, 0.6, "a"))
	s := stagetest.Snapshot(types, stagetest.Pod("a", "3", "1Gi"), stagetest.Pod("b", "3", "1Gi"))
	s.NodePools[0] = stagetest.Pool("default", requiring(typeKey, 2, corev1.NodeSelectorOpExists))
	s.NodePools[0].Spec.Limits = api.Limits{corev1.ResourceCPU: resource.MustParse("16")}
	for i, claim := range write(t, s) {
		if got := strings.Join(claim.InstanceTypes, " "); got != "medium large" {
			t.Errorf("claim %d keeps the types %q, want medium and large", i, got)
		}
	}
}

// TestMinValuesKeepTheCheapestTypes checks that minValues that few types meet keep no more types
// than a claim without them.
func TestMinValuesKeepTheCheapestTypes(t *testing.T) {
	s := stagetest.Snapshot(manyTypes(claims.MaximumTypes+10), stagetest.Pod("a", "3", "1Gi"))
	s.NodePools[0] = stagetest.Pool("default", requiring(typeKey, 2, corev1.NodeSelectorOpExists))
	if got := len(write(t, s)[0].InstanceTypes); got != claims.MaximumTypes {
		t.Errorf("the claim keeps %d types, want %d", got, claims.MaximumTypes)
	}
}

// TestOverlays checks that a claim says whether NodeOverlays changed its prices or capacities.
func TestOverlays(t *testing.T) {
	types := threeSizes()
	claim := write(t, stagetest.Snapshot(types, stagetest.Pod("a", "3", "1Gi")))[0].NodeClaim
	for key := range claim.Annotations {
		if strings.Contains(key, "overlay") {
			t.Errorf("the annotation %s is set without a NodeOverlay", key)
		}
	}
	types[1].Offerings[1].PriceOverlay, types[2].CapacityOverlay = true, true
	claim = write(t, stagetest.Snapshot(types, stagetest.Pod("a", "3", "1Gi")))[0].NodeClaim
	for _, key := range []string{api.PriceOverlayAppliedAnnotationKey, api.CapacityOverlayAppliedAnnotationKey} {
		if claim.Annotations[key] != "true" {
			t.Errorf("the annotation %s is %q, want true", key, claim.Annotations[key])
		}
	}
}
