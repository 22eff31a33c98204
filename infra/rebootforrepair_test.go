package infra

import (
	"encoding/json"
	"slices"
	"testing"
)

// TestRebootForRepair holds that disrupt orders reboots, and lifecycle may reboot the cluster's own
// instances, only where the setting is on. A dry run reboots none.
func TestRebootForRepair(t *testing.T) {
	for _, test := range []struct{ on, dryRun bool }{{false, false}, {true, false}, {true, true}} {
		made := chosen(t, map[string]any{"rebootForRepair": test.on, "dryRun": test.dryRun})
		for _, name := range functionNames() {
			_, f := made.function(t, "whittle-prod-"+name)
			_, told := f.Properties["Environment"].(map[string]any)["Variables"].(map[string]any)["REBOOT_FOR_REPAIR"]
			if want := test.on && name == "disrupt"; told != want {
				t.Errorf("%+v: %s is told: %t", test, name, told)
			}
			_, role := functionRole(t, made, name)
			all := statements(t, role)
			of := func(action string) *statement {
				at := slices.IndexFunc(all, func(s statement) bool { return slices.Contains(s.actions, action) })
				if at < 0 {
					return nil
				}
				return &all[at]
			}
			reboot := of("ec2:RebootInstances")
			if want := test.on && !test.dryRun && name == "lifecycle"; (reboot != nil) != want {
				t.Errorf("%+v: %s may reboot: %t", test, name, reboot != nil)
			}
			if reboot != nil && limits(t, reboot) != limits(t, of("ec2:TerminateInstances")) {
				t.Errorf("%s may reboot other instances than it may terminate: %s", name, limits(t, reboot))
			}
		}
	}
}

// limits are the resources and conditions of a statement as text.
func limits(t *testing.T, s *statement) string {
	t.Helper()
	text, err := json.Marshal([]any{s.resources, s.conditions})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
