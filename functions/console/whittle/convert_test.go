package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/api/legacy/legacytest"
)

// oldFile returns the old objects of a seed as a file, with a Deployment that selects the first
// Provisioner, and one that selects nothing.
func oldFile(t *testing.T, seed uint64) string {
	t.Helper()
	objects := legacytest.Generate(seed)
	var text strings.Builder
	write := func(object any) {
		written, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString("---\n" + string(written))
	}
	for _, object := range objects.Provisioners {
		write(object)
	}
	for _, object := range objects.Templates {
		write(object)
	}
	for _, object := range objects.NodePools {
		write(object)
	}
	for _, object := range objects.NodeClasses {
		write(object)
	}
	for _, workload := range [][2]any{{"any", "{}"}, {"old", "{karpenter.sh/provisioner-name: old-0}"}} {
		fmt.Fprintf(&text, `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %s}
spec:
  replicas: 7
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      nodeSelector: %[2]s
      tolerations: [{operator: Exists}]
      containers: [{name: a, image: pause, resources: {requests: {cpu: "1"}}}]
`, workload[:]...)
	}
	return text.String()
}

// TestConvertedFilesGiveTheSamePlan plans for random old files, and for what convert makes of them.
func TestConvertedFilesGiveTheSamePlan(t *testing.T) {
	planned := 0
	for seed := range uint64(12) {
		old := oldFile(t, seed)
		converted, problems, err := runPlan(t, old, "convert", "-f", "-")
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, problems)
		}
		var plans []string
		for _, text := range []string{old, converted} {
			shown, problems, err := runPlan(
				t, text, "plan", "-f", "-", "-o", "json", "--instance-types", "testdata/plan/types.json",
			)
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, problems)
			}
			plans = append(plans, withoutSeconds(t, shown))
		}
		if plans[0] != plans[1] {
			t.Errorf("seed %d: the plan is\n%s\nand for converted files\n%s", seed, plans[0], plans[1])
		}
		planned += checkProvisionerLabels(t, plans[0])
		again, _, err := runPlan(t, converted, "convert", "-f", "-")
		if err != nil || again != converted {
			t.Errorf("seed %d: a second conversion gives %v\n%s\nfor\n%s", seed, err, again, converted)
		}
	}
	if planned == 0 {
		t.Error("no plan has a node, so the plans say nothing")
	}
}

// checkProvisionerLabels checks the nodes of Provisioners in a plan, and counts all nodes. API
// servers accept the label of a Provisioner on a claim, and no requirement on it.
func checkProvisionerLabels(t *testing.T, plan string) int {
	t.Helper()
	var shown struct {
		Nodes []struct {
			NodePool     string
			Labels       map[string]string
			Requirements []struct{ Key string }
		}
	}
	if err := json.Unmarshal([]byte(plan), &shown); err != nil {
		t.Fatal(err)
	}
	for _, node := range shown.Nodes {
		if strings.HasPrefix(node.NodePool, "old-") && node.Labels[api.ProvisionerNameLabelKey] != node.NodePool {
			t.Errorf("a node of %s has the labels %v", node.NodePool, node.Labels)
		}
		for _, requirement := range node.Requirements {
			if requirement.Key == api.ProvisionerNameLabelKey {
				t.Errorf("a claim of %s requires %s, which an API server refuses", node.NodePool, requirement.Key)
			}
		}
	}
	return len(shown.Nodes)
}

// TestConvertFlags checks the settings that old objects left to Karpenter.
func TestConvertFlags(t *testing.T) {
	const old = "apiVersion: karpenter.k8s.aws/v1alpha1\nkind: AWSNodeTemplate\nmetadata: {name: a}\nspec: {}\n"
	out, problems, err := runPlan(t, old, "convert", "-f", "-")
	for _, want := range []string{
		"kubernetes.io/cluster/${CLUSTER_NAME}", "  # spec.instanceProfile: ", "\n  role: ${NODE_ROLE}\n",
	} {
		if err != nil || problems != "" || !strings.Contains(out, want) {
			t.Errorf("got %v, %s without %s\n%s", err, problems, want, out)
		}
	}
	out, problems, err = runPlan(
		t, old, "convert", "-f", "-", "-cluster-name", "prod", "-instance-profile", "nodes", "-kubernetes-version", "1.31",
	)
	for _, want := range []string{"kubernetes.io/cluster/prod", "instanceProfile: nodes", "al2@latest"} {
		if err != nil || problems != "" || !strings.Contains(out, want) {
			t.Errorf("got %v, %s without %s\n%s", err, problems, want, out)
		}
	}
	if _, _, err := runPlan(t, "", "convert"); !errors.Is(err, errUsage) {
		t.Errorf("without files: %v", err)
	}
}
