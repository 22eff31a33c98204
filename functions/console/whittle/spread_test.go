package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const spreadCluster = `
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
apiVersion: VERSION
kind: KIND
metadata: {name: web}
spec:
  replicas: 3
  selector: SELECTOR
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: web, resources: {requests: {cpu: 10m, memory: 10Mi}}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: other}}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{id: subnet-1}]
  securityGroupSelectorTerms: [{id: sg-1}]
`

// TestPlanSpreadsByDefault plans three small pods of a controller, which fit one node.
func TestPlanSpreadsByDefault(t *testing.T) {
	const zones = "[{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}]"
	const labels = "{matchLabels: {app: web}}"
	for _, test := range []struct {
		version, kind, selector, constraints string
		nodes                                int
	}{
		{"apps/v1", "Deployment", labels, zones, 3},
		{"apps/v1", "ReplicaSet", labels, zones, 3},
		{"apps/v1", "StatefulSet", labels, zones, 3},
		{"v1", "ReplicationController", "{app: web}", zones, 3},
		{"v1", "ReplicationController", "{}", zones, 3}, // whose template's labels count
		{"apps/v1", "Deployment", labels, strings.Replace(zones, "DoNotSchedule", "ScheduleAnyway", 1), 3},
		{"apps/v1", "Deployment", labels, "[]", 1},
	} {
		file := filepath.Join(t.TempDir(), "cluster.yaml")
		content := strings.NewReplacer("VERSION", test.version, "KIND", test.kind, "SELECTOR", test.selector).
			Replace(spreadCluster)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		out, problems, err := runPlan(t, "", "plan", "-f", file, "-o", "json", "--default-topology-spread", test.constraints)
		if err != nil || problems != "" {
			t.Errorf("%s: %v\n%s", test.kind, err, problems)
		}
		if nodes := strings.Count(out, `"instanceType": "m5.large"`); nodes != test.nodes {
			t.Errorf("%s with %s: %d nodes, want %d\n%s", test.kind, test.constraints, nodes, test.nodes, out)
		}
	}
}

// TestDefaultSpreadIsNamed holds that people read where a constraint comes from that no pod has: in
// what explain says of the pod, and in the reason for a pod without a place. Of four pods, three
// zones hold one each, because there are fewer than minDomains.
func TestDefaultSpreadIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cluster.yaml")
	content := strings.NewReplacer("VERSION", "apps/v1", "KIND", "Deployment", "SELECTOR", "{matchLabels: {app: web}}",
		"replicas: 3", "replicas: 4").Replace(spreadCluster)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	const zones = "[{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, minDomains: 9, " +
		"whenUnsatisfiable: DoNotSchedule}]"
	out, _, err := runPlan(t, "", "explain", "pod", "default/web-0", "-f", file, "--default-topology-spread", zones)
	if err != nil || !strings.Contains(out, "by defaultTopologySpread: spread over topology.kubernetes.io/zone") {
		t.Errorf("%v\n%s", err, out)
	}
	out, _, err = runPlan(t, "", "plan", "-f", file, "--default-topology-spread", zones)
	if err != nil || !strings.Contains(out, "defaultTopologySpread[0] allows no more of its pods") ||
		strings.Contains(out, "spec.topologySpreadConstraints") {
		t.Errorf("%v\n%s", err, out)
	}
	_, problems, err := runPlan(t, "", "plan", "-f", file, "--default-topology-spread", "[{maxSkew: 1}]")
	if err == nil || !strings.Contains(problems, "[0].topologyKey is missing") {
		t.Errorf("a wrong constraint: %v\n%s", err, problems)
	}
}
