package infra

import (
	"slices"
	"testing"
)

// TestReaction checks that nobody starts a watch where none may run, and that a failed start is not
// repeated.
func TestReaction(t *testing.T) {
	for _, test := range []struct {
		name     string
		settings map[string]any
		want     any // REACTION of the functions
	}{
		{"by default", map[string]any{}, "adaptive"},
		{"always", map[string]any{"reaction": "always"}, "always"},
		{"poll", map[string]any{"reaction": "poll"}, nil},
		{"a dry run, which writes no Lease", map[string]any{"dryRun": "true"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			template := chosen(t, test.settings)
			for _, name := range []string{"provision", "lifecycle", "watch"} {
				_, f := template.function(t, "whittle-prod-"+name)
				variables := f.Properties["Environment"].(map[string]any)["Variables"].(map[string]any)
				if variables["REACTION"] != test.want || (variables["WATCH_FUNCTION"] != nil) != (test.want != nil) {
					t.Errorf("%s: REACTION %v, WATCH_FUNCTION %v", name, variables["REACTION"], variables["WATCH_FUNCTION"])
				}
				_, role := functionRole(t, template, name)
				var may bool
				for _, s := range statements(t, role) {
					may = may || slices.Contains(s.actions, "lambda:InvokeFunction")
				}
				if may != (test.want != nil) {
					t.Errorf("%s may invoke the watch: %t", name, may)
				}
			}
		})
	}
	settings := chosen(t, map[string]any{}).ofType("AWS::Lambda::EventInvokeConfig")
	if len(settings) != 1 {
		t.Fatalf("%d functions have settings for events", len(settings))
	}
	for _, watch := range settings {
		if watch.Properties["MaximumRetryAttempts"] != 0.0 || watch.Properties["MaximumEventAgeInSeconds"] != 60.0 {
			t.Errorf("events of the watch: %v", watch.Properties)
		}
	}
}
