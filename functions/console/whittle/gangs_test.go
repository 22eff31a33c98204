package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// twoNodes are a NodePool whose limit allows two nodes of four processors, and its class.
const twoNodes = `apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  limits: {cpu: 8}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: [{key: karpenter.k8s.aws/instance-cpu, operator: In, values: ["4"]}]
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: node
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {a: b}}]
  securityGroupSelectorTerms: [{tags: {a: b}}]
---
`

// TestAPlanOfManifestsKeepsGangsWhole plans a gang that a limit has too little room for.
func TestAPlanOfManifestsKeepsGangsWhole(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gang.yaml")
	manifests := func(least string) {
		t.Helper()
		text := twoNodes + `apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata: {name: training, namespace: default}
spec: {minMember: ` + least + `}
---
apiVersion: batch/v1
kind: Job
metadata: {name: training, namespace: default}
spec:
  parallelism: 3
  completions: 3
  template:
    metadata: {labels: {scheduling.x-k8s.io/pod-group: training}}
    spec:
      restartPolicy: Never
      containers: [{name: main, image: main, resources: {requests: {cpu: 3}}}]
`
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plan := func() string {
		t.Helper()
		var out, problems bytes.Buffer
		if err := run(t.Context(), []string{"plan", "-f", file}, strings.NewReader(""), &out, &problems); err != nil {
			t.Fatal(err, problems.String())
		}
		return out.String()
	}
	manifests("2")
	if out := plan(); !strings.Contains(out, "2 nodes") && !strings.Contains(out, "2 new nodes") {
		t.Errorf("two of three pods are enough:\n%s", out)
	}
	manifests("3")
	if out := plan(); !strings.Contains(out, `the gang "default/training" needs 3 pods at a time, of which 0 run and 2 more have a place`) {
		t.Errorf("the gang is not whole:\n%s", out)
	}
}
