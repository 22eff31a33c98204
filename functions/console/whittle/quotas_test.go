package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAPlanOfManifestsKeepsQuotas plans two pods of a node each within a CapacityQuota of one node.
// A quota without an amount is a warning.
func TestAPlanOfManifestsKeepsQuotas(t *testing.T) {
	file := filepath.Join(t.TempDir(), "quota.yaml")
	const text = twoNodes + `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: main, image: main, resources: {requests: {cpu: 3}}}]
---
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityQuota
metadata: {name: few}
spec:
  selector: {matchLabels: {kubernetes.io/os: linux}}
  limits: {resources: {nodes: 1}}
---
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityQuota
metadata: {name: empty}
spec:
  limits: {resources: {}}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, problems bytes.Buffer
	if err := run(t.Context(), []string{"plan", "-f", file}, strings.NewReader(""), &out, &problems); err != nil {
		t.Fatal(err, problems.String())
	}
	for _, want := range []string{
		"1 on 1 new node", `capacityquota "few"`, "raise spec.limits.resources of the capacityquota",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the plan lacks %q:\n%s", want, out.String())
		}
	}
	if want := `CapacityQuota "empty": spec.limits.resources is empty`; !strings.Contains(problems.String(), want) {
		t.Errorf("it warns of %q", problems.String())
	}
}

// TestAPlanOfManifestsKeepsTheCeiling plans two pods of a node each within what one node costs.
func TestAPlanOfManifestsKeepsTheCeiling(t *testing.T) {
	file := filepath.Join(t.TempDir(), "web.yaml")
	const text = twoNodes + `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: main, image: main, resources: {requests: {cpu: 3}}}]
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for ceiling, want := range map[string][]string{
		"0":    {"2 on 2 new nodes"},
		"0.05": {"1 on 1 new node", "limit of", "of the setting maxDollarsPerHour", "raise the setting"},
		"0.01": {"of the setting maxDollarsPerHour"},
	} {
		out, err := output(t, "plan", "-f", file, "--max-dollars-per-hour", ceiling)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range want {
			if !strings.Contains(strings.Join(strings.Fields(out), " "), part) {
				t.Errorf("with a ceiling of $%s/h the plan lacks %q:\n%s", ceiling, part, out)
			}
		}
	}
	for _, wrong := range []string{"-1", "much", "NaN", "Inf", "1e300"} {
		var out, problems bytes.Buffer
		err := run(t.Context(), []string{"plan", "-f", file, "-max-dollars-per-hour", wrong}, strings.NewReader(""), &out,
			&problems)
		if err == nil || !strings.Contains(problems.String(), "write dollars an hour, such as 12.50") {
			t.Errorf("%q: %v, %s", wrong, err, problems.String())
		}
	}
}
