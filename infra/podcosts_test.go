package infra

import (
	"slices"
	"strings"
	"testing"
)

// TestPodDeletionCost holds that provision and disrupt know the setting, and that only disrupt may
// patch pods, by a group of its own, and only where the setting is on.
func TestPodDeletionCost(t *testing.T) {
	const group = "whittle:pod-deletion-cost"
	for _, mode := range []string{"API", "CONFIG_MAP"} {
		for _, on := range []bool{false, true} {
			made := chosen(t, map[string]any{"podDeletionCost": on, "authenticationMode": mode})
			for _, name := range functionNames() {
				want := on && slices.Contains([]string{"provision", "disrupt"}, name)
				_, f := made.function(t, "whittle-prod-"+name)
				value, told := f.Properties["Environment"].(map[string]any)["Variables"].(map[string]any)["POD_DELETION_COST"]
				if told != want || told && value != "true" {
					t.Errorf("podDeletionCost %t: %s has the variable %v", on, name, value)
				}
			}
			if found := strings.Contains(string(made.text), group); found != on {
				t.Errorf("%s, podDeletionCost %t: a function is in the group: %t", mode, on, found)
			}
		}
	}
}
