package infra

import (
	"slices"
	"strings"
	"testing"
)

// TestEventBus holds that the three functions that publish know the bus, and may send to it events of
// Whittle's source alone. Without the setting, and in a dry run, none does.
func TestEventBus(t *testing.T) {
	const shared = "arn:aws:events:us-east-1:111122223333:event-bus/shared"
	for _, test := range []struct {
		bus, resource string
		dryRun        bool
	}{{"", "", false}, {"default", ":event-bus/default", false}, {shared, shared, false}, {shared, "", true}} {
		context := map[string]any{"dryRun": test.dryRun}
		if test.bus != "" {
			context["eventBus"] = test.bus
		}
		made := chosen(t, context)
		for _, name := range functionNames() {
			_, f := made.function(t, "whittle-prod-"+name)
			bus, _ := f.Properties["Environment"].(map[string]any)["Variables"].(map[string]any)["EVENT_BUS"].(string)
			publishes := test.resource != "" && slices.Contains([]string{"provision", "lifecycle", "disrupt"}, name)
			if want := map[bool]string{true: test.bus}[publishes]; bus != want {
				t.Errorf("%+v: %s has the bus %q, want %q", test, name, bus, want)
			}
			_, role := functionRole(t, made, name)
			all := statements(t, role)
			at := slices.IndexFunc(all, func(s statement) bool {
				return s.sid != "TestEvents" && slices.Contains(s.actions, "events:PutEvents")
			})
			if (at >= 0) != publishes {
				t.Errorf("%+v: %s may publish: %t", test, name, at >= 0)
			}
			if at < 0 {
				continue
			}
			if limit := limits(t, &all[at]); !strings.Contains(limit, test.resource) ||
				!strings.Contains(limit, `"events:source":"whittle"`) {
				t.Errorf("%+v: %s may publish by %s", test, name, limit)
			}
		}
	}
}
