package snapshot_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// TestAPoolWithoutATypeSaysSo checks the event of a NodePool that no instance type suits.
func TestAPoolWithoutATypeSaysSo(t *testing.T) {
	const (
		nothing   = "NodePool requirements filtered out all compatible available instance types"
		minValues = nothing + " due to minValues incompatibility"
	)
	ofFamily := func(family string, available bool) catalog.InstanceType {
		return catalog.InstanceType{
			Name: family + ".large",
			Requirements: scheduling.NewRequirements(
				scheduling.In(api.LabelInstanceFamily, family), scheduling.In("example.com/rack", family),
				scheduling.In(corev1.LabelTopologyZone, "a", "b"),
			),
			Offerings: []catalog.Offering{{Zone: "a", CapacityType: api.CapacityTypeSpot, Available: available}},
		}
	}
	types := []catalog.InstanceType{ofFamily("m5", true), ofFamily("m6", true), ofFamily("m7", false)}
	families := func(least int, values ...string) api.NodeSelectorRequirementWithMinValues {
		r := api.NodeSelectorRequirementWithMinValues{
			Key: api.LabelInstanceFamily, Operator: corev1.NodeSelectorOpIn, Values: values,
		}
		if least > 0 {
			r.MinValues = &least
		}
		return r
	}
	two := 2
	for _, test := range []struct {
		name        string
		requirement api.NodeSelectorRequirementWithMinValues
		policy      plan.MinValuesPolicy
		want        string
	}{
		{"types that suit", families(0, "m5"), plan.MinValuesStrict, ""},
		{"no type that suits", families(0, "c5"), plan.MinValuesStrict, nothing},
		{"a type without an available offering", families(0, "m7"), plan.MinValuesStrict, nothing},
		{"enough values", families(2, "m5", "m6"), plan.MinValuesStrict, ""},
		{"too few available values", families(3, "m5", "m6", "m7"), plan.MinValuesStrict, minValues},
		{"too few values by best effort", families(3, "m5", "m6", "m7"), plan.MinValuesBestEffort, ""},
		{"only values that the pool admits count", families(2, "m5", "c5"), plan.MinValuesStrict, minValues},
		{"a label of one's own", api.NodeSelectorRequirementWithMinValues{
			Key: "example.com/rack", Operator: corev1.NodeSelectorOpExists, MinValues: &two,
		}, plan.MinValuesStrict, ""},
		{"zones", api.NodeSelectorRequirementWithMinValues{
			Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpExists, MinValues: &two,
		}, plan.MinValuesStrict, minValues},
	} {
		pool := poolOf("default", "default")
		pool.Spec.Template.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{test.requirement}
		got := snapshot.Incompatible(&pool, types, test.policy)
		if head, _, _ := strings.Cut(got, ": "); head != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
