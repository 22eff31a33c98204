package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// daemonFiles are a pool of nodes with 2 CPUs, of which pods may use 1930m, and two pods that fill them.
const daemonFiles = `
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
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: web, resources: {requests: {cpu: 900m}}}]
`

func daemonSet(name, cpu string) string {
	return fmt.Sprintf(`
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: %s, namespace: kube-system}
spec:
  selector: {matchLabels: {k8s-app: %s}}
  template:
    metadata: {labels: {k8s-app: %s}}
    spec:
      tolerations: [{operator: Exists}]
      containers: [{name: main, image: image, resources: {requests: {cpu: %s}}}]
`, name, name, name, cpu)
}

// TestPlansOfFilesCountEKSDaemonSets plans pods for which two nodes lack room once EKS's DaemonSets run.
func TestPlansOfFilesCountEKSDaemonSets(t *testing.T) {
	const says = "each node also runs aws-node and kube-proxy, as EKS clusters do (cpu 150m, pods 2)"
	for name, test := range map[string]struct {
		more, flag string
		nodes      int
		cpu        string // of the first node, with DaemonSets
		assumed    string
		says       string
	}{
		"by default":       {"", "", 2, "1050m", "kube-system/aws-node kube-system/kube-proxy", says},
		"asked for":        {"", "eks", 2, "1050m", "kube-system/aws-node kube-system/kube-proxy", says},
		"the files' alone": {"", "files", 1, "1800m", "", ""},
		"one is there": {daemonSet("kube-proxy", "20m"), "", 1, "1870m", "kube-system/aws-node",
			"each node also runs aws-node, as EKS clusters do (cpu 50m, pods 1)"},
		"both are there":         {daemonSet("kube-proxy", "20m") + daemonSet("aws-node", "30m"), "", 1, "1850m", "", ""},
		"another network plugin": {daemonSet("cilium", "10m"), "", 1, "1910m", "kube-system/kube-proxy", "kube-proxy"},
		"pods of another network plugin": {`
---
apiVersion: v1
kind: Pod
metadata:
  name: cilium-1
  namespace: kube-system
  ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: cilium, uid: u, controller: true}]
spec:
  nodeName: elsewhere
  containers: [{name: main, image: image}]
`, "", 1, "1900m", "kube-system/kube-proxy", "kube-proxy"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "all.yaml")
			if err := os.WriteFile(file, []byte(daemonFiles+test.more), 0o600); err != nil {
				t.Fatal(err)
			}
			arguments := []string{"plan", "-f", file}
			if test.flag != "" {
				arguments = append(arguments, "-daemon-sets", test.flag)
			}
			table, _, err := runPlan(t, "", arguments...)
			if err != nil || !strings.Contains(table, test.says) || test.says == "" && strings.Contains(table, "also runs") {
				t.Errorf("%v, want %q:\n%s", err, test.says, table)
			}
			text, _, err := runPlan(t, "", append(arguments, "-o", "json")...)
			var shown struct {
				Nodes []struct {
					Requests map[string]string `json:"requests"`
				} `json:"nodes"`
				Assumed []string `json:"assumedDaemonSets"`
			}
			if err != nil || json.Unmarshal([]byte(text), &shown) != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if len(shown.Nodes) != test.nodes || shown.Assumed == nil || strings.Join(shown.Assumed, " ") != test.assumed {
				t.Fatalf("%d nodes with %q, want %d with %q", len(shown.Nodes), shown.Assumed, test.nodes, test.assumed)
			}
			if got := shown.Nodes[0].Requests["cpu"]; got != test.cpu {
				t.Errorf("the first node's requests are %s of cpu, want %s", got, test.cpu)
			}
		})
	}
}

// TestOtherFormsOfFilesSayWhatTheyAssume asks for moves, for a difference and for a reason.
func TestOtherFormsOfFilesSayWhatTheyAssume(t *testing.T) {
	for _, arguments := range [][]string{
		{"plan", "--consolidate", "-f", "testdata/consolidate"},
		{"plan", "-f", "testdata/plan/builtin.yaml", "--diff", "testdata/plan/builtin.yaml"},
		{"explain", "node", "kept", "-f", "testdata/consolidate"},
	} {
		text, _, err := runPlan(t, "", arguments...)
		if err != nil || !strings.Contains(text, "each node also runs aws-node and kube-proxy") {
			t.Errorf("%q: %v\n%s", arguments, err, text)
		}
		if arguments[0] == "explain" {
			continue
		}
		text, _, err = runPlan(t, "", append(arguments, "-o", "jsonpath={.assumedDaemonSets[*]}")...)
		if err != nil || text != "kube-system/aws-node kube-system/kube-proxy" {
			t.Errorf("%q: %v, %s", arguments, err, text)
		}
	}
	_, problems, err := runPlan(t, "", "plan", "-daemon-sets", "eks")
	if err == nil || !strings.Contains(problems, "a cluster has its own DaemonSets") {
		t.Errorf("%v, %s", err, problems)
	}
}
