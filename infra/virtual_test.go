package infra

import (
	"slices"
	"strings"
	"testing"
)

// TestVirtualPods holds that provision and disrupt know the settings capacityBuffers and
// provisioningRequests, and that the groups with the rights are named only where one is on.
func TestVirtualPods(t *testing.T) {
	knowsTheSetting(t, "capacityBuffers", "CAPACITY_BUFFERS", "whittle:capacity-buffers")
	knowsTheSetting(t, "provisioningRequests", "PROVISIONING_REQUESTS", "whittle:provisioning-requests")
}

func knowsTheSetting(t *testing.T, setting, variable, group string) {
	t.Helper()
	reads, writes := group+`"`, group+`-status"`
	for _, on := range []bool{false, true} {
		made := chosen(t, map[string]any{setting: on})
		for _, name := range functionNames() {
			want := on && slices.Contains([]string{"provision", "disrupt"}, name)
			_, f := made.function(t, "whittle-prod-"+name)
			value, told := f.Properties["Environment"].(map[string]any)["Variables"].(map[string]any)[variable]
			if told != want || told && value != "true" {
				t.Errorf("%s %t: %s has the variable %v", setting, on, name, value)
			}
		}
		readers, writers := strings.Count(string(made.text), reads), strings.Count(string(made.text), writes)
		if on && (readers != 2 || writers != 1) || !on && readers+writers > 0 {
			t.Errorf("%s %t: %d functions may read, and %d write a status", setting, on, readers, writers)
		}
	}
}
