package claims_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/claims"
	"github.com/whittle-dev/whittle/shared/planner/stagetest"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

const zone = corev1.LabelTopologyZone

// write plans a node for each pod of the snapshot, and writes the claims.
func write(t *testing.T, s *plan.Snapshot) []plan.PlannedNodeClaim {
	t.Helper()
	stages := stagetest.Read(s)
	stages.PlaceEachAlone(t)
	list, _ := claims.Write(stages.State, stages.State.Planned)
	return list
}

// threeSizes are types of 2, 4 and 8 cores in the zones a and b, at $0.05 a core.
func threeSizes() []catalog.InstanceType {
	return []catalog.InstanceType{
		stagetest.Type("small", 2, 8, 0.1, "a", "b"),
		stagetest.Type("medium", 4, 16, 0.2, "a", "b"),
		stagetest.Type("large", 8, 32, 0.4, "a", "b"),
	}
}

// podsOf lists the names of a claim's pods.
func podsOf(claim *plan.PlannedNodeClaim) string {
	var names []string
	for _, ref := range claim.Pods {
		names = append(names, ref.Name)
	}
	return strings.Join(names, " ")
}

// TestPodsOfClaims plans two nodes for pods of two groups, and checks which claim names which pods.
func TestPodsOfClaims(t *testing.T) {
	s := stagetest.Snapshot(threeSizes(),
		stagetest.Pod("b", "1", "1Gi"), stagetest.Pod("c", "1", "1Gi"), stagetest.Pod("d", "1", "1Gi"),
		stagetest.Pod("a", "500m", "1Gi"),
	)
	stages := stagetest.Read(s)
	stages.Domain.Divide(stages.Work.Groups)
	stages.State.PrepareDemands()
	larger, smaller := stages.State.Demands[0], stages.State.Demands[1]
	first := stages.State.PlanNodeFor(larger)
	stages.State.PlaceOrGrow(first, smaller, 1)
	second := stages.State.PlanNodeFor(larger)
	// One pod of the first demand stays without a node.
	list, placed := claims.Write(stages.State, stages.State.Planned)
	if len(list) != 2 || !slices.Equal(placed, []int{2, 1}) {
		t.Fatalf("got %d claims with %v units of the demands, want 2 with [2 1]", len(list), placed)
	}
	if got := podsOf(&list[0]) + " and " + podsOf(&list[1]); got != "a b and c" {
		t.Errorf("the claims have the pods %s, want a b and c: in the order of nodes, sorted in each", got)
	}
	if second != stages.State.Planned[1] {
		t.Error("the second claim is not that of the second node")
	}
	if len(larger.Units) != 1 || larger.Units[0][0].Name != "d" || len(smaller.Units) != 0 {
		t.Errorf("the demands have %d and %d units left, want pod d only", len(larger.Units), len(smaller.Units))
	}
	if got := list[0].NodeClaim.Annotations[api.NominatedPodsAnnotationKey]; got != "uid-a,uid-b" {
		t.Errorf("the annotation names %q, want uid-a,uid-b", got)
	}
}

// TestNames checks the object's kind, name and owner.
func TestNames(t *testing.T) {
	s := stagetest.Snapshot(threeSizes(), stagetest.Pod("a", "1", "1Gi"))
	claim := write(t, s)[0].NodeClaim
	if claim.Kind != api.NodeClaimKind || claim.APIVersion != api.APIVersion {
		t.Errorf("the object is a %s of %s", claim.Kind, claim.APIVersion)
	}
	if claim.Name != "" || claim.GenerateName != "default-" {
		t.Errorf("the name is %q and generateName %q, want only generateName default-", claim.Name, claim.GenerateName)
	}
	if len(claim.OwnerReferences) != 1 || claim.OwnerReferences[0].UID != "uid-default" ||
		claim.OwnerReferences[0].Kind != api.NodePoolKind {
		t.Errorf("the owners are %+v, want the NodePool", claim.OwnerReferences)
	}
	if !slices.Equal(claim.Finalizers, []string{api.TerminationFinalizer}) {
		t.Errorf("the finalizers are %v", claim.Finalizers)
	}
	if claim.Labels[api.NodePoolLabelKey] != "default" {
		t.Errorf("the labels are %v, want the NodePool's name among them", claim.Labels)
	}
}

// TestEqualClaims checks that equal nodes share lists, but no annotations.
func TestEqualClaims(t *testing.T) {
	list := write(t, stagetest.Snapshot(threeSizes(), stagetest.Pod("a", "1", "1Gi"), stagetest.Pod("b", "1", "1Gi")))
	if len(list) != 2 {
		t.Fatalf("got %d claims, want 2", len(list))
	}
	a, b := &list[0], &list[1]
	if &a.Offerings[0] != &b.Offerings[0] || &a.InstanceTypes[0] != &b.InstanceTypes[0] ||
		&a.NodeClaim.Spec.Requirements[0] != &b.NodeClaim.Spec.Requirements[0] {
		t.Error("equal claims have lists of their own, want shared ones")
	}
	a.NodeClaim.Annotations["example.com/note"] = "x"
	if b.NodeClaim.Annotations["example.com/note"] != "" {
		t.Error("equal claims share annotations")
	}
}

// TestRequests adds up what the pods and daemon sets of a node request.
func TestRequests(t *testing.T) {
	s := stagetest.Snapshot(threeSizes(), stagetest.Pod("a", "1", "1Gi"))
	var daemon appsv1.DaemonSet
	daemon.Namespace, daemon.Name = "kube-system", "agent"
	daemon.Spec.Template.Spec = stagetest.Pod("agent", "250m", "512Mi").Spec
	s.DaemonSets = []appsv1.DaemonSet{daemon}
	requests := write(t, s)[0].NodeClaim.Spec.Resources.Requests
	want := corev1.ResourceList{"cpu": resource.MustParse("1250m"), "memory": resource.MustParse("1536Mi"),
		"pods": resource.MustParse("2")}
	if len(requests) != len(want) {
		t.Errorf("got %v, want %v", requests, want)
	}
	for name, amount := range want {
		if got := requests[name]; got.Cmp(amount) != 0 {
			t.Errorf("the claim requests %s %s, want %s", &got, name, &amount)
		}
	}
}

// requirementsOf reads the requirements of a claim.
func requirementsOf(t *testing.T, claim *plan.PlannedNodeClaim) scheduling.Requirements {
	t.Helper()
	requirements, err := scheduling.FromTerms(claim.NodeClaim.Spec.Requirements)
	if err != nil {
		t.Fatal(err)
	}
	return requirements
}

// valuesOf lists the values of a label that a claim allows, sorted; "any" without a limit.
func valuesOf(t *testing.T, claim *plan.PlannedNodeClaim, key string) string {
	t.Helper()
	r, ok := requirementsOf(t, claim)[key]
	if !ok {
		return "any"
	}
	values, ok := r.Values()
	if !ok {
		return "any"
	}
	return strings.Join(slices.Sorted(slices.Values(values)), " ")
}

// choicesOf lists a claim's offerings, in order.
func choicesOf(claim *plan.PlannedNodeClaim) string {
	var texts []string
	for _, o := range claim.Offerings {
		texts = append(texts, fmt.Sprintf("%s/%s/%s", o.InstanceType, o.Zone, o.CapacityType))
	}
	return strings.Join(texts, " ")
}
