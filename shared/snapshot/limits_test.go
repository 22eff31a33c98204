package snapshot_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/planning"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// atLimit is a pool of four m5.large, each full with a pod, whose limit is that many processors.
func atLimit(limit string) *snapshot.Objects {
	o := &snapshot.Objects{
		NodeClasses: []api.EC2NodeClass{*catalogtest.NodeClass("default")}, NodePools: []api.NodePool{poolOf("default", "default")},
	}
	pool := &o.NodePools[0]
	pool.Spec.Template.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{
		{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"m5.large"}},
		{Key: api.CapacityTypeLabelKey, Operator: corev1.NodeSelectorOpIn, Values: []string{api.CapacityTypeOnDemand}},
	}
	pool.Spec.Limits = api.Limits{corev1.ResourceCPU: resource.MustParse(limit)}
	pool.Status.Conditions = []metav1.Condition{{Type: api.ConditionReady, Status: metav1.ConditionTrue}}
	pool.Default()
	for i := range 4 {
		claim, node := full(fmt.Sprint("n", i), pool)
		o.NodeClaims, o.Nodes = append(o.NodeClaims, claim), append(o.Nodes, node)
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p-" + claim.Name, UID: types.UID("p-" + claim.Name)}}
		pod.Spec.NodeName, pod.Status.Phase = node.Name, corev1.PodRunning
		pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m")},
		}}}
		o.Pods = append(o.Pods, pod)
	}
	return o
}

// full is a claim and its node, which has been initialized for an hour.
func full(name string, pool *api.NodePool) (api.NodeClaim, corev1.Node) {
	before := metav1.NewTime(catalogtest.Now.Add(-time.Hour))
	labels := map[string]string{
		api.NodePoolLabelKey: pool.Name, corev1.LabelInstanceTypeStable: "m5.large", corev1.LabelTopologyZone: "us-east-1a",
		corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux", api.CapacityTypeLabelKey: api.CapacityTypeOnDemand,
		api.NodeInitializedLabelKey: "true", api.NodeRegisteredLabelKey: "true", corev1.LabelHostname: name,
	}
	has := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("7Gi"), corev1.ResourcePods: resource.MustParse("29"),
	}
	claim := api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: labels}}
	claim.CreationTimestamp = before
	claim.Spec.NodeClassRef = pool.Spec.Template.Spec.NodeClassRef
	claim.Status.ProviderID, claim.Status.NodeName = api.ProviderID("us-east-1a", "i-"+name), name
	claim.Status.Capacity, claim.Status.Allocatable = has, has
	for _, kind := range []string{api.ConditionTypeLaunched, api.ConditionTypeRegistered, api.ConditionTypeInitialized} {
		claim.Status.Conditions = append(claim.Status.Conditions, metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, LastTransitionTime: before,
		})
	}
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: labels}}
	node.Spec.ProviderID = claim.Status.ProviderID
	node.Status.Capacity, node.Status.Allocatable = has, has
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return claim, node
}

// TestAPoolAtItsLimitReplacesItsNodes takes a node of a full pool away, as drift does, and as a spot
// warning does. What leaves makes room for what replaces it.
func TestAPoolAtItsLimitReplacesItsNodes(t *testing.T) {
	now := catalogtest.Now
	for limit, replaces := range map[string]int{"6": 0, "8": 1, "9": 1, "10": 1} {
		o := atLimit(limit)
		seen, err := snapshot.Disruption(o, nil)
		if err != nil {
			t.Fatal(err)
		}
		solve := func(o *snapshot.Objects) (made, unplaced int, moves disruption.Moves) {
			decided := planning.Solve(snapshot.NewOffer(o, catalogtest.Catalog(t), catalog.Observed{}, now).Assemble(o, now))
			drifted := disruption.Candidate{Node: &seen.Nodes[0], Pool: &o.NodePools[0], Reason: api.DisruptionReasonDrifted}
			moves = seen.Moves([]disruption.Candidate{drifted}, decided, now)
			return len(decided.NodeClaims), len(decided.Unplaced), moves
		}
		_, _, moves := solve(snapshot.Without(o, seen, []*api.NodeClaim{seen.Nodes[0].Claim}, now))
		if len(moves.Begin) != replaces || len(moves.Stay) != 1-replaces {
			t.Errorf("with a limit of %s, %d drifted nodes are replaced and %d stay", limit, len(moves.Begin), len(moves.Stay))
		}
		o.NodeClaims[0].DeletionTimestamp = &metav1.Time{Time: now}
		if made, unplaced, _ := solve(o); made != replaces || unplaced != 1-replaces {
			t.Errorf("with a limit of %s, a warned node gets %d new nodes, and %d pods have no place", limit, made, unplaced)
		}
		// A pod that waits gets no room beside the nodes that stay.
		o.NodeClaims[0].DeletionTimestamp = nil
		o.Pods[0].Spec.NodeName, o.Pods[0].Status = "", corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
		}}
		o.Nodes[0].Spec.Unschedulable = true
		if made, _, _ := solve(o); (made > 0) != (limit == "10") {
			t.Errorf("with a limit of %s, a pod that waits gets %d new nodes", limit, made)
		}
	}
}
