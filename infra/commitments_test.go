package infra

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const commitmentsText = `ReservedInstances:
- ReservedInstancesId: r-1
  InstanceType: m5.large
  InstanceCount: 2
  Start: 2026-01-01T00:00:00Z
  End: 2027-01-01T00:00:00Z
`

// TestCommitmentsOfAFile holds that catalog alone has the file's content, and that no function may then
// ask for the account's commitments.
func TestCommitmentsOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "commitments.yaml")
	if err := os.WriteFile(path, []byte(commitmentsText), 0o600); err != nil {
		t.Fatal(err)
	}
	for value, wants := range map[string]struct{ counted, carried, asks bool }{
		"off": {}, "account": {counted: true, asks: true}, path: {counted: true, carried: true},
	} {
		made := chosen(t, map[string]any{"commitments": value})
		for _, name := range functionNames() {
			_, f := made.function(t, "whittle-prod-"+name)
			variables := f.Properties["Environment"].(map[string]any)["Variables"].(map[string]any)
			if _, has := variables["COMMITMENT_FILE"]; has != (wants.carried && name == "catalog") {
				t.Errorf("commitments %s: %s has a file: %t", value, name, has)
			}
			if name == "lifecycle" && (variables["COMMITMENTS"] == "true") != wants.counted {
				t.Errorf("commitments %s: lifecycle has %v", value, variables["COMMITMENTS"])
			}
		}
		for _, action := range []string{"ec2:DescribeReservedInstances", "savingsplans:DescribeSavingsPlans"} {
			if has := strings.Contains(string(made.text), action); has != wants.asks {
				t.Errorf("commitments %s: a function may %s: %t", value, action, has)
			}
		}
	}
	for content, want := range map[string]string{
		strings.Replace(commitmentsText, "InstanceCount: 2", "InstanceCount: none", 1): "ReservedInstances[0].InstanceCount",
		"ReservedInstances: []": "it has no active Reserved Instance",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := commitmentsOf(path)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "commitments.yaml") {
			t.Errorf("%q: %v", content, err)
		}
	}
	for _, wrong := range []any{"accounts", true, "commitments", filepath.Join(t.TempDir(), "none.json")} {
		if _, _, err := commitmentsOf(wrong); err == nil {
			t.Errorf("%v is accepted", wrong)
		}
	}
}
