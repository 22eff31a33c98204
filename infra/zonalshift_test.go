package infra

import (
	"slices"
	"testing"
)

// TestZonalShift holds that functions are told of the cluster, and may read its shifts, only where
// the setting is on.
func TestZonalShift(t *testing.T) {
	for _, on := range []bool{false, true} {
		made := chosen(t, map[string]any{"zonalShift": on})
		for _, name := range functionNames() {
			want := on && slices.Contains([]string{"provision", "lifecycle", "disrupt", "install"}, name)
			_, f := made.function(t, "whittle-prod-"+name)
			_, told := f.Properties["Environment"].(map[string]any)["Variables"].(map[string]any)["ZONAL_SHIFT_CLUSTER_ARN"]
			_, role := functionRole(t, made, name)
			may := slices.ContainsFunc(statements(t, role), func(s statement) bool {
				return slices.Contains(s.actions, "arc-zonal-shift:GetManagedResource")
			})
			if told != want || may != want {
				t.Errorf("zonalShift %t: %s is told of the cluster: %t, may read its shifts: %t", on, name, told, may)
			}
		}
	}
}
