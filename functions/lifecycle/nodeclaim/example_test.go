package nodeclaim_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclaim"
	"github.com/whittle-dev/whittle/shared/api"
)

// A person has deleted a NodeClaim, and its finalizer holds it. Next returns the steps of the drain.
// Nothing is carried out: the function lifecycle does that, and looks again after Again.
func ExampleNext() {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	deleted := metav1.NewTime(now.Add(-time.Second))
	claim := &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "default-abc", CreationTimestamp: metav1.NewTime(now.Add(-time.Hour)),
		DeletionTimestamp: &deleted, Finalizers: []string{api.TerminationFinalizer},
		Labels: map[string]string{api.NodePoolLabelKey: "default"},
	}}
	claim.Status.ProviderID, claim.Status.NodeName = "aws:///us-east-1a/i-1", "node-1"
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: "node-1", DeletionTimestamp: &deleted, Finalizers: []string{api.TerminationFinalizer},
	}}
	node.Spec.ProviderID = claim.Status.ProviderID
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-0"}}
	pod.Spec.NodeName, pod.Status.Phase = node.Name, corev1.PodRunning

	outcome := nodeclaim.Next(nodeclaim.View{
		Claim: claim, Nodes: []*corev1.Node{node}, Pods: []*corev1.Pod{pod},
		Instances: []nodeclaim.Instance{{ID: "i-1", State: "running"}}, InstancesListed: true,
	}, now)

	for _, step := range outcome.Steps {
		switch step := step.(type) {
		case nodeclaim.PatchNode:
			fmt.Println("patch the node", step.Name, "with its taint")
		case nodeclaim.Evict:
			fmt.Println("evict", step.Pod.Namespace+"/"+step.Pod.Name)
		case nodeclaim.Log:
			fmt.Println("log:", step.Message)
		default:
			fmt.Printf("%T\n", step)
		}
	}
	fmt.Println("look again after", outcome.Again)
	// Output:
	// patch the node node-1 with its taint
	// nodeclaim.PatchClaimStatus
	// evict shop/web-0
	// log: tainted node
	// look again after 2s
}
