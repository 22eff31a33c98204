package nodeclaim_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclaim"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption/drift"
)

// steady is a claim whose node is as it should be, on a tick.
func steady(n int) nodeclaim.View {
	since := metav1.NewTime(noon.Add(-6 * time.Hour))
	labels := map[string]string{
		api.NodePoolLabelKey: "default", api.NodeInitializedLabelKey: "true", api.NodeRegisteredLabelKey: "true",
		"karpenter.k8s.aws/ec2nodeclass": "default",
	}
	for i := range 25 { // as many as the labels of an instance type
		labels[fmt.Sprintf("karpenter.k8s.aws/instance-label-%d", i)] = fmt.Sprint("value-", i)
	}
	claim := &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("default-%05d", n), UID: "claim", ResourceVersion: "1", CreationTimestamp: since, Labels: labels,
		Finalizers: []string{api.TerminationFinalizer},
		Annotations: map[string]string{
			api.AnnotationInstanceTagged: "true", api.AnnotationClusterNameTagged: "true",
		},
	}}
	claim.Spec.NodeClassRef = &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: "default"}
	id := fmt.Sprintf("i-%017x", n)
	claim.Status.ProviderID, claim.Status.NodeName = api.ProviderID("us-east-1a", id), "node-"+id
	size := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"),
		corev1.ResourcePods: resource.MustParse("58"), corev1.ResourceEphemeralStorage: resource.MustParse("20Gi"),
	}
	claim.Status.Capacity, claim.Status.Allocatable = size, size
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: claim.Status.NodeName, UID: "node", ResourceVersion: "1", Labels: maps.Clone(labels),
		CreationTimestamp: since,
		Annotations:       map[string]string{"csi.volume.kubernetes.io/nodeid": `{"ebs.csi.aws.com":"` + id + `"}`},
		Finalizers:        []string{api.TerminationFinalizer},
	}}
	node.Spec.ProviderID, node.Status.Capacity, node.Status.Allocatable = claim.Status.ProviderID, size, size
	for condition, status := range map[corev1.NodeConditionType]corev1.ConditionStatus{
		"DiskPressure": corev1.ConditionFalse, corev1.NodeReady: corev1.ConditionTrue,
	} {
		node.Status.Conditions = append(node.Status.Conditions,
			corev1.NodeCondition{Type: condition, Status: status, LastTransitionTime: since})
	}
	instance := nodeclaim.Instance{
		ID: id, State: "running", LaunchTime: since.Time, HostName: node.Name, Tags: map[string]string{
			api.NameTagKey: node.Name, api.NodeClaimTagKey: claim.Name, api.EKSClusterNameTagKey: "prod",
			api.ClusterTagKey("prod"): "owned", api.NodePoolTagKey: "default",
		},
	}
	for _, condition := range []string{
		api.ConditionTypeConsistentStateFound, api.ConditionTypeInitialized, api.ConditionTypeLaunched, "Ready",
		api.ConditionTypeRegistered,
	} {
		claim.Status.Conditions = append(claim.Status.Conditions, metav1.Condition{
			Type: condition, Status: metav1.ConditionTrue, Reason: condition, LastTransitionTime: since,
		})
	}
	pool := &api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	return nodeclaim.View{
		Claim: claim, Cluster: "prod", Tick: true, Nodes: []*corev1.Node{node}, HostName: node.Name,
		Instances: []nodeclaim.Instance{instance}, InstancesListed: true, StatusRead: true, Binds: true,
		Origin: &drift.Origin{Pool: pool},
	}
}

// settled carries out the patches of a first tick, so that a second has nothing to write.
func settled(view nodeclaim.View) nodeclaim.View {
	for _, step := range nodeclaim.Next(view, noon).Steps {
		switch step := step.(type) {
		case nodeclaim.PatchClaim:
			metadata := step.Patch["metadata"].(map[string]any)
			for key, value := range asMap(metadata["annotations"]) {
				view.Claim.Annotations[key] = value.(string)
			}
			for key, value := range asMap(metadata["labels"]) {
				view.Claim.Labels[key] = value.(string)
			}
		case nodeclaim.PatchClaimStatus:
			if conditions, changed := step.Patch["status"].(map[string]any)["conditions"]; changed {
				view.Claim.Status.Conditions = conditions.([]metav1.Condition)
			}
		}
	}
	return view
}

func asMap(value any) map[string]any {
	made, _ := value.(map[string]any)
	return made
}

// TestATickChangesNothingInWhatItWasGiven decides on nodes that were changed at random. The view is part of a cache
// that other passes read, and the same view leads to the same steps.
func TestATickChangesNothingInWhatItWasGiven(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	deleted := metav1.NewTime(noon.Add(-time.Minute))
	changes := []func(*nodeclaim.View){
		func(v *nodeclaim.View) { v.Nodes[0].Finalizers = nil },
		func(v *nodeclaim.View) { delete(v.Nodes[0].Labels, api.NodeInitializedLabelKey) },
		func(v *nodeclaim.View) { v.Nodes[0].Labels = nil },
		func(v *nodeclaim.View) { v.Nodes[0].DeletionTimestamp = &deleted },
		func(v *nodeclaim.View) { v.Claim.DeletionTimestamp = &deleted },
		func(v *nodeclaim.View) {
			v.Claim.Status.Conditions = v.Claim.Status.Conditions[:min(2, len(v.Claim.Status.Conditions))]
		},
		func(v *nodeclaim.View) { v.Claim.Status.Conditions = nil },
		func(v *nodeclaim.View) { v.Instances[0].State = "stopped" },
		func(v *nodeclaim.View) { v.Instances[0].State = "terminated" },
		func(v *nodeclaim.View) { v.Instances[0].Tags = nil },
		func(v *nodeclaim.View) { v.Nodes = nil },
		func(v *nodeclaim.View) {
			taints := make([]corev1.Taint, 0, 8) // with room that an append would use
			team := corev1.Taint{Key: "team", Effect: corev1.TaintEffectNoSchedule}
			v.Nodes[0].Spec.Taints = append(taints, api.UnregisteredNoExecuteTaint(), team)
		},
		func(v *nodeclaim.View) { v.Nodes[0].Spec.Taints = []corev1.Taint{api.DisruptedNoScheduleTaint()} },
		func(v *nodeclaim.View) { v.Nodes[0].Status.Conditions = nil },
	}
	acted := 0
	for n := range 2000 {
		view := settled(steady(n))
		for range random.IntN(4) {
			change := changes[random.IntN(len(changes))]
			if len(view.Nodes) > 0 {
				change(&view)
			}
		}
		before := view
		before.Claim, before.Nodes = view.Claim.DeepCopy(), nil
		for _, node := range view.Nodes {
			before.Nodes = append(before.Nodes, node.DeepCopy())
		}
		first := nodeclaim.Next(view, noon)
		if !equality.Semantic.DeepEqual(before.Claim, view.Claim) ||
			!equality.Semantic.DeepEqual(before.Nodes, view.Nodes) {
			t.Fatalf("the claim or the node is changed by the steps %v", first.Steps)
		}
		if second := nodeclaim.Next(before, noon); !equality.Semantic.DeepEqual(second, first) {
			t.Fatalf("the same view leads to\n%v\nand to\n%v", first, second)
		}
		if len(first.Steps) > 0 {
			acted++
		}
	}
	if acted < 500 || acted > 1900 {
		t.Errorf("%d of 2000 views lead to steps", acted)
	}
}

// BenchmarkSteady is what a tick decides on one of many nodes that stay as they are.
func BenchmarkSteady(b *testing.B) {
	view := settled(steady(1))
	if outcome := nodeclaim.Next(view, noon); len(outcome.Steps) > 0 {
		b.Fatalf("the node does not stay as it is: %v", outcome.Steps)
	}
	b.ReportAllocs()
	for b.Loop() {
		nodeclaim.Next(view, noon)
	}
}
