package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const deployment = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  weight: 10
  limits: {cpu: "2"}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]}
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 5
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: web, resources: {requests: {cpu: 600m}}}
`

// TestExplainObjects asks about each kind of object, in each form.
func TestExplainObjects(t *testing.T) {
	file := filepath.Join(t.TempDir(), "shop.yaml")
	if err := os.WriteFile(file, []byte(deployment), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		arguments []string
		parts     []string
	}{
		{[]string{"node", "kept", "-f", "testdata/consolidate"}, []string{
			"Node kept\n", "m5.large, on-demand, us-east-1a", `nodeclaim "default-kept" of nodepool "default"`,
			"$0.0982/h, of which $0.0022/h are extras", "1 pod on it: default/kept-0",
			"consolidation leaves it (Protected): the node has the annotation", "nothing is planned",
		}},
		{[]string{"nodeclaims/default-busy", "-f", "testdata/consolidate"}, []string{
			"Node busy\n", "consolidation may remove it now, which saves $0.1150/h (Underutilized)",
		}},
		{[]string{"empty", "-f", "testdata/consolidate"}, []string{"Node empty\n", "no pod runs on it"}},
		{[]string{"nodepool", "default", "-f", "testdata/consolidate"}, []string{
			"4 nodes, $0.4888/h", "yes, with weight 0", "its budgets allow 4 empty and 4 underutilized nodes now",
		}},
		{[]string{"nodepool/default", "-f", file}, []string{"0 nodes", "limit of cpu: 0 of 2 used", "yes, with weight 10"}},
		{[]string{"deploy", "web", "-n", "shop", "-f", file, "-daemon-sets", "files"}, []string{
			"Deployment shop/web: 5 pods\n", "  no place: 2 pods: shop/web-", "  new node: 3 pods: shop/web-",
			"shop/web-0 goes to a new node of nodepool \"default\": m5.large", "limit of cpu 2 reached",
		}},
		{[]string{"deployment/shop/web", "-f", file, "-o", "yaml"}, []string{"formatVersion: 1\n", "kind: Deployment\n"}},
		{[]string{"web", "-n", "shop", "-f", file}, []string{"Deployment shop/web: 5 pods\n"}},
		{[]string{"shop/web-0", "-f", file}, []string{"shop/web-0 goes to a new node"}},
	} {
		text, _, err := runPlan(t, "", append([]string{"explain"}, test.arguments...)...)
		for _, part := range test.parts {
			if err != nil || !strings.Contains(text, part) {
				t.Errorf("%q: %v, lacks %q:\n%s", test.arguments, err, part, text)
			}
		}
	}
	for _, test := range []struct {
		arguments []string
		want      string
	}{
		{[]string{"node", "nobody"}, `there is no node "nobody" among the 4 nodes`},
		{[]string{"nodepool/defaul"}, `there is no nodepool "defaul": did you mean default?`},
		{[]string{"sts/kept"}, "there is no statefulset default/kept: did you mean default/kept-0?"},
		{[]string{"nodepol/default"}, "there is no pod or workload nodepol/default: did you mean nodepool/default?"},
		{[]string{"elsewhere/default"}, "there is no pod or workload elsewhere/default among the 4 pods"},
		{[]string{"node", "buzy"}, `there is no node "buzy": did you mean busy?`},
		{[]string{"nobody"}, `there is no object "nobody", or pod default/nobody among the 4 pods`},
	} {
		_, _, err := runPlan(t, "", append(append([]string{"explain"}, test.arguments...), "-f", "testdata/consolidate")...)
		want(t, err, test.want)
	}
}
