package infra

import (
	"strings"
	"testing"
)

// TestBinding holds that lifecycle knows who binds pods, and may bind them only where it does.
func TestBinding(t *testing.T) {
	for _, mode := range []string{"API", "CONFIG_MAP"} {
		for _, binding := range []string{"plan", "scheduler"} {
			made := chosen(t, map[string]any{"binding": binding, "authenticationMode": mode})
			_, f := made.function(t, "whittle-prod-lifecycle")
			value, told := f.Properties["Environment"].(map[string]any)["Variables"].(map[string]any)["BINDING"]
			if !told || value != binding {
				t.Errorf("binding %s: lifecycle has the variable %v", binding, value)
			}
			if found := strings.Contains(string(made.text), "whittle:binding"); found != (binding == "plan") {
				t.Errorf("%s, binding %s: lifecycle is in the group: %t", mode, binding, found)
			}
		}
	}
}
