package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// oneType is an instance type of the snapshot form with 2 CPUs in a rack. further are more members
// of its one offering.
func oneType(name, rack string, price float64, further string) string {
	return fmt.Sprintf(`{"name": %q, "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
	 {"key": "example.com/rack", "operator": "In", "values": [%q]}],
	 "capacity": {"cpu": "2", "memory": "8Gi", "pods": "29"}, "overhead": {"kubeReserved": {"cpu": "100m"}},
	 "offerings": [{"requirements": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["z"]}],
	  "price": %v%s}]}`, name, rack, price, further)
}

// planWith plans manifests with instance types in the snapshot form.
func planWith(t *testing.T, types, manifests string) (plan struct {
	Nodes []struct {
		InstanceType  string
		InstanceTypes []string
		Requirements  []struct {
			Key    string
			Values []string
		}
		Pods []string
	}
	Unschedulable []struct{ Reasons []struct{ Reason string } }
}) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "types.json")
	if err := os.WriteFile(file, []byte(types), 0o600); err != nil {
		t.Fatal(err)
	}
	out, problems, err := runPlan(t, manifests, "plan", "-f", "-", "-o", "json", "--instance-types", file)
	if err != nil {
		t.Fatalf("%v\n%s", err, problems)
	}
	if err := json.Unmarshal([]byte(out), &plan); err != nil {
		t.Fatal(err)
	}
	return plan
}

const racks = `apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: example.com/rack, operator: Exists, minValues: 2}
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers: [{name: c, image: x, resources: {requests: {cpu: 1}}}]
`

// minValues of a label that only the instance types carry leaves its value to EC2's choice.
func TestMinValuesOfTheTypesOwnLabel(t *testing.T) {
	both := oneType("a", "r1", 0.03, "") + "," + oneType("b", "r2", 0.04, "")
	made := planWith(t, `{"instanceTypes": [`+both+`]}`, racks)
	if len(made.Nodes) != 1 || !slices.Equal(made.Nodes[0].InstanceTypes, []string{"a", "b"}) {
		t.Fatalf("the plan is %+v", made)
	}
	for _, r := range made.Nodes[0].Requirements {
		if r.Key == "example.com/rack" && !slices.Equal(r.Values, []string{"r1", "r2"}) {
			t.Errorf("the claim requires a rack of %v", r.Values)
		}
	}
	made = planWith(t, `{"instanceTypes": [`+oneType("a", "r1", 0.03, "")+`]}`, racks)
	if len(made.Unschedulable) != 1 || !strings.Contains(made.Unschedulable[0].Reasons[0].Reason, "minValues 2") {
		t.Errorf("with one rack the plan is %+v", made)
	}
}

// A daemon set may select a label that only the file knows. Its pods take room on those nodes.
func TestWellKnownLabelsOfAFileHoldForDaemonSets(t *testing.T) {
	daemon := `---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: d}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      nodeSelector: {example.com/rack: r1}
      containers: [{name: c, image: x, resources: {requests: {cpu: 1500m}}}]
`
	pool := strings.ReplaceAll(racks, `        - {key: example.com/rack, operator: Exists, minValues: 2}`,
		`        - {key: kubernetes.io/arch, operator: Exists}`)
	types := `{"instanceTypes": [` + oneType("a", "r1", 0.03, "") + "," + oneType("b", "r2", 0.04, "") +
		`], "wellKnownLabels": ["example.com/rack"]}`
	if made := planWith(t, types, pool); len(made.Nodes) != 1 || made.Nodes[0].InstanceType != "a" {
		t.Errorf("without the daemon set the plan is %+v", made)
	}
	if made := planWith(t, types, pool+daemon); len(made.Nodes) != 1 || made.Nodes[0].InstanceType != "b" {
		t.Errorf("with the daemon set the plan is %+v", made)
	}
}

// Offerings may have other quantities than their type, reservations another key, and claims fewer
// types.
func TestFurtherMembersOfTheSnapshotForm(t *testing.T) {
	pool := strings.ReplaceAll(racks, ", minValues: 2", "")
	larger := oneType("a", "r1", 0.03, `, "capacityOverride": {"cpu": "1"}`) + "," + oneType("b", "r1", 0.04, "")
	made := planWith(t, `{"instanceTypes": [`+larger+`]}`, pool)
	if len(made.Nodes) != 1 || made.Nodes[0].InstanceType != "b" {
		t.Errorf("with a smaller offering the plan is %+v", made)
	}
	over := oneType("a", "r1", 0.03, `, "overheadOverride": {"systemReserved": {"cpu": "1100m"}}`) + "," +
		oneType("b", "r1", 0.04, `, "overheadOverride": {"systemReserved": {"cpu": "900m"}}`)
	made = planWith(t, `{"instanceTypes": [`+over+`]}`, pool)
	if len(made.Nodes) != 1 || made.Nodes[0].InstanceType != "b" {
		t.Errorf("with a larger overhead the plan is %+v", made)
	}
	two := oneType("a", "r1", 0.03, "") + "," + oneType("b", "r1", 0.04, "")
	made = planWith(t, `{"instanceTypes": [`+two+`], "maxInstanceTypes": 1}`, pool)
	if len(made.Nodes) != 1 || !slices.Equal(made.Nodes[0].InstanceTypes, []string{"a"}) {
		t.Errorf("with one type a claim the plan is %+v", made)
	}
	file := filepath.Join(t.TempDir(), "types.json")
	if err := os.WriteFile(file, []byte(`{"instanceTypes": [], "maxInstanceTypes": -1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := runPlan(t, pool, "plan", "-f", "-", "--instance-types", file)
	want(t, err, "maxInstanceTypes", "-1 is negative")
}

// Two pods share one instance of a reservation whose key is the file's own.
func TestReservationsUnderAnotherKey(t *testing.T) {
	reserved := strings.ReplaceAll(oneType("a", "r1", 0.001, `, "reservationCapacity": 1`),
		`"values": ["z"]}]`, `"values": ["z"]},
		{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["reserved"]},
		{"key": "example.com/reservation", "operator": "In", "values": ["cr-1"]}]`)
	second := strings.ReplaceAll(racks[strings.Index(racks, "---"):], "{name: p}", "{name: q}")
	made := planWith(t, `{"instanceTypes": [`+reserved+","+oneType("b", "r1", 0.04, "")+
		`], "reservationIDLabel": "example.com/reservation"}`, strings.ReplaceAll(racks, ", minValues: 2", "")+second)
	var types []string
	for _, node := range made.Nodes {
		types = append(types, node.InstanceType)
	}
	slices.Sort(types)
	if !slices.Equal(types, []string{"a", "b"}) {
		t.Errorf("the plan has the nodes %v, want one of the reservation and another", types)
	}
}
