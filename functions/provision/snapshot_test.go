package main

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
)

// Pods of a node that leaves get their new place before they are evicted; pods that
// will not be evicted would leave a node for them empty, to be removed and launched
// again without end.
func TestPodsOfALeavingNodeWaitUnlessTheyStay(t *testing.T) {
	deleted := metav1.Now()
	pod := func(name, node string) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{NodeName: node}}
	}
	node := func(name string, leaving bool) corev1.Node {
		made := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if leaving {
			made.DeletionTimestamp = &deleted
		}
		return made // and without a provider id, as a node of no cloud
	}
	snapshot := &plan.Snapshot{}
	assemble(snapshot,
		[]corev1.Pod{pod("moves", "leaving"), pod("stays", "leaving"), pod("runs", "busy"), pod("lost", "gone")},
		[]corev1.Node{node("leaving", true), node("busy", false)},
		[]api.NodeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}}},
		func(pod *corev1.Pod) bool { return pod.Name == "stays" })
	if len(snapshot.Pods) != 1 || snapshot.Pods[0].Name != "moves" || snapshot.Pods[0].Spec.NodeName != "" {
		t.Errorf("waiting %+v", snapshot.Pods)
	}
	if len(snapshot.Nodes) != 2 || snapshot.Nodes[0].NodeClaim != nil || len(snapshot.Nodes[0].Pods) != 2 {
		t.Errorf("nodes %+v", snapshot.Nodes)
	}
}
