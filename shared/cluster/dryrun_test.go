package cluster_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
)

// TestADryRunKeepsNothing makes every kind of write, and finds the cluster unchanged.
func TestADryRunKeepsNothing(t *testing.T) {
	dry := client(t).DryRun()
	waiting := pod(t, "dry", "")
	create(t, schema.GroupVersionResource{Version: "v1", Resource: "nodes"},
		&corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: "dry"}})
	claim := &api.NodeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: api.APIVersion, Kind: api.NodeClaimKind},
		ObjectMeta: metav1.ObjectMeta{Name: "dry"},
		Spec: api.NodeClaimSpec{
			Requirements: []api.NodeSelectorRequirementWithMinValues{},
			NodeClassRef: &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: "default"},
		},
	}
	made, err := dry.CreateNodeClaim(t.Context(), claim)
	if err != nil || made.UID == "" {
		t.Errorf("the answer is %+v, %v, want the claim as it would be", made, err)
	}
	labels := map[string]any{"metadata": map[string]any{"labels": map[string]any{"dry": "true"}}}
	for name, write := range map[string]func() error{
		"evicting":        func() error { return dry.Evict(t.Context(), waiting) },
		"deleting a pod":  func() error { return dry.DeletePod(t.Context(), waiting, nil) },
		"patching a node": func() error { return dry.PatchNode(t.Context(), "dry", labels) },
		"deleting a node": func() error { return dry.DeleteNode(t.Context(), "dry", "") },
		"a ConfigMap": func() error {
			return dry.PutConfigMap(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "dry"}})
		},
		"an event": func() error {
			return dry.Record(t.Context(), cluster.Event{About: corev1.ObjectReference{Kind: "Node", Name: "dry"},
				Reason: "Dry"}, noon)
		},
		"a lease for once": func() error { return leased(t, dry) },
	} {
		if err := write(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	node, err := client(t).Node(t.Context(), "dry", false)
	if err != nil || node.Labels["dry"] != "" || node.DeletionTimestamp != nil {
		t.Errorf("the node is %+v, %v", node, err)
	}
	if stored := read(t, "dry"); stored == nil || stored.DeletionTimestamp != nil {
		t.Errorf("the pod is %v", stored)
	}
	if claims, err := client(t).NodeClaims(t.Context()); err != nil || len(claims) > 0 {
		t.Errorf("claims %v, %v", claims, err)
	}
	if stored, err := client(t).ConfigMap(t.Context(), "dry"); err != nil || stored != nil {
		t.Errorf("the ConfigMap is %v, %v", stored, err)
	}
	if events, err := client(t).Events(t.Context(), "Node", "Dry"); err != nil || len(events) > 0 {
		t.Errorf("events %v, %v", events, err)
	}
}

// leased takes a Lease and releases it, twice. A dry run keeps neither.
func leased(t *testing.T, dry *cluster.Client) error {
	for _, holder := range []string{"one", "two"} {
		lease, err := dry.AcquireLease(t.Context(), "dry", holder, noon, noon.Add(time.Minute))
		if err != nil {
			return err
		}
		if lease == nil {
			t.Errorf("%s does not get the lease", holder)
			continue
		}
		if err := lease.Release(t.Context()); err != nil {
			return err
		}
	}
	return nil
}
