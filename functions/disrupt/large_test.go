package disrupt

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/sight"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// noon is when the tests of large fleets take place, in a second in which passes search for moves.
var noon = time.Date(2026, 1, 1, 12, 0, 5, 0, time.UTC)

// standing is a cluster whose objects are given, and in which nothing may be written.
type standing struct {
	kubernetes
	given *sight.Given
}

func (s standing) Reader() sight.Reader { return s.given }

// fullFleet has so many full nodes of one pool, with twenty pods each, on which nothing is to be done.
func fullFleet(nodes int) *snapshot.Objects {
	since := metav1.NewTime(noon.Add(-6 * time.Hour))
	pool := api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "pool", Generation: 1}}
	pool.Spec.Template.Spec.NodeClassRef = &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind,
		Name: "default"}
	class := api.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "class"}}
	o := &snapshot.Objects{NodePools: []api.NodePool{pool}, NodeClasses: []api.EC2NodeClass{class}}
	for n := range nodes {
		claim, node := fullNode(n, since)
		o.NodeClaims, o.Nodes = append(o.NodeClaims, claim), append(o.Nodes, node)
		for i := range 20 {
			o.Pods = append(o.Pods, fullPod(n*20+i, node.Name, since))
		}
	}
	return o
}

func fullNode(n int, since metav1.Time) (api.NodeClaim, corev1.Node) {
	labels := map[string]string{
		api.NodePoolLabelKey: "default", api.NodeInitializedLabelKey: "true", api.NodeRegisteredLabelKey: "true",
		corev1.LabelTopologyZone: "us-east-1" + string(rune('a'+n%3)), corev1.LabelInstanceTypeStable: "m6i.xlarge",
		api.CapacityTypeLabelKey: api.CapacityTypeOnDemand,
	}
	for i := range 20 { // as many as Karpenter's labels of an instance type
		labels[fmt.Sprintf("karpenter.k8s.aws/instance-label-%d", i)] = fmt.Sprint("value-", i)
	}
	claim := api.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("default-%05d", n), UID: types.UID(fmt.Sprint("claim-", n)), ResourceVersion: "1", Labels: labels,
		CreationTimestamp: since, Finalizers: []string{api.TerminationFinalizer}, Annotations: map[string]string{},
	}}
	claim.Spec.NodeClassRef = &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: "default"}
	claim.Status.ProviderID = api.ProviderID("us-east-1a", fmt.Sprintf("i-%017x", n))
	claim.Status.NodeName, claim.Status.LastPodEventTime = fmt.Sprintf("node-%05d", n), since
	for _, condition := range []string{
		api.ConditionTypeLaunched, api.ConditionTypeRegistered, api.ConditionTypeInitialized, "Consolidatable", "Ready",
	} {
		claim.Status.Conditions = append(claim.Status.Conditions, metav1.Condition{
			Type: condition, Status: metav1.ConditionTrue, LastTransitionTime: since,
		})
	}
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: claim.Status.NodeName, UID: types.UID(fmt.Sprint("node-", n)), ResourceVersion: "1", Labels: labels,
		CreationTimestamp: since, Finalizers: []string{api.TerminationFinalizer},
	}}
	node.Spec.ProviderID = claim.Status.ProviderID
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("3920m"), corev1.ResourceMemory: resource.MustParse("14Gi"),
		corev1.ResourcePods: resource.MustParse("58"),
	}
	for _, condition := range []corev1.NodeConditionType{"MemoryPressure", "DiskPressure", "PIDPressure"} {
		node.Status.Conditions = append(node.Status.Conditions,
			corev1.NodeCondition{Type: condition, Status: corev1.ConditionFalse, LastTransitionTime: since})
	}
	node.Status.Conditions = append(node.Status.Conditions,
		corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: since})
	return claim, node
}

func fullPod(n int, node string, since metav1.Time) corev1.Pod {
	yes := true
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: fmt.Sprintf("team-%02d", n%50), Name: fmt.Sprintf("service-%d", n),
		UID: types.UID(fmt.Sprint("pod-", n)), ResourceVersion: "1", Generation: 1, CreationTimestamp: since,
		Labels: map[string]string{
			"app.kubernetes.io/name": fmt.Sprint("service-", n%200), "pod-template-hash": "5d9667dfc7",
		},
		OwnerReferences: []metav1.OwnerReference{{
			Kind: "ReplicaSet", Name: fmt.Sprint("service-", n%200), UID: types.UID(fmt.Sprint("set-", n%200)), Controller: &yes,
		}},
	}}
	pod.Spec.NodeName = node
	pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("190m"), corev1.ResourceMemory: resource.MustParse("250Mi"),
	}}}}
	pod.Status.Phase, pod.Status.StartTime = corev1.PodRunning, &since
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: since},
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: since},
	}
	return pod
}

// BenchmarkUnchanged is what disrupt decides in a tick on 5,000 nodes with 100,000 pods on which nothing is
// to be done, after the objects were read.
func BenchmarkUnchanged(b *testing.B) {
	client := standing{given: &sight.Given{Known: *fullFleet(5000)}}
	h := &Handler{now: func() time.Time { return noon }}
	h.settled.remember(&client.given.Known, noon)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.runStages(context.Background(), client); err != nil {
			b.Fatal(err)
		}
	}
}
