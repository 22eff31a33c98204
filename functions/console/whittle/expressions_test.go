package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const withExpression = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]}
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{id: subnet-1}]
  securityGroupSelectorTerms: [{id: sg-1}]
  kubelet:
    maxPods: EXPRESSION
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 6
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: web, resources: {requests: {cpu: 10m, memory: 10Mi}}}
`

// TestPlanEvaluatesExpressions plans six small pods, of which m5.large holds all or only some.
func TestPlanEvaluatesExpressions(t *testing.T) {
	for _, test := range []struct {
		expression    string
		nodes         int
		want, problem string
	}{
		{`"max_pods"`, 1, "m5.large", ""},
		{`"vcpus + 1"`, 2, "m5.large", ""},
		{`"vcpu + 1"`, 0, "undeclared reference to 'vcpu'", `EC2NodeClass "default": validating expression`},
		{`"vcpus - 1000"`, 0, "outside the valid range", "evaluated to a value outside the valid range"},
	} {
		file := filepath.Join(t.TempDir(), "cluster.yaml")
		content := strings.ReplaceAll(withExpression, "EXPRESSION", test.expression)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		out, problems, err := runPlan(t, "", "plan", "-daemon-sets", "files", "-f", file, "-o", "json")
		if err != nil || !strings.Contains(out, test.want) || !strings.Contains(problems, test.problem) ||
			(problems == "") != (test.problem == "") {
			t.Errorf("%s: %v\n%s\n%s", test.expression, err, problems, out)
		}
		if nodes := strings.Count(out, `"instanceType": "m5.large"`); nodes != test.nodes {
			t.Errorf("%s: %d nodes, want %d\n%s", test.expression, nodes, test.nodes, out)
		}
	}
}
