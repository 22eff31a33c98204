package scenario

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// quietWorld has one instance, which has not ended.
type quietWorld struct{ launched map[string]time.Time }

func (quietWorld) Prices() map[string]float64          { return map[string]float64{"i-1": 1} }
func (q quietWorld) LaunchTimes() map[string]time.Time { return q.launched }

func guardedNode() *corev1.Node {
	node := &corev1.Node{}
	node.Name, node.UID, node.Labels = "one", "u", map[string]string{"karpenter.sh/nodepool": "default"}
	return node
}

func guardedClaim() *unstructured.Unstructured {
	var conditions []any
	for _, kind := range []string{"Launched", "Registered", "Initialized"} {
		conditions = append(conditions, map[string]any{"type": kind, "status": "True"})
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
		"metadata": map[string]any{
			"name": "claim", "annotations": map[string]any{
				"karpenter.sh/nodepool-hash": "1", "karpenter.k8s.aws/ec2nodeclass-hash": "1",
				"karpenter.k8s.aws/ec2nodeclass-hash-version": "v5",
			},
			"finalizers": []any{"karpenter.sh/termination"},
		},
		"spec":   map[string]any{"expireAfter": "720h"},
		"status": map[string]any{"conditions": conditions},
	}}
}

func TestGuardSeesChanges(t *testing.T) {
	set := func(claim *unstructured.Unstructured, value any, path ...string) {
		if err := unstructured.SetNestedField(claim.Object, value, path...); err != nil {
			t.Fatal(err)
		}
	}
	condition := func(claim *unstructured.Unstructured, kind, status string) {
		conditions, _, _ := unstructured.NestedSlice(claim.Object, "status", "conditions")
		set(claim, append(conditions, map[string]any{"type": kind, "status": status}), "status", "conditions")
	}
	for _, test := range []struct {
		name  string
		node  func(*corev1.Node)
		claim func(*unstructured.Unstructured)
		kind  watch.EventType
		want  string // empty: nothing is found
	}{
		{name: "nothing"},
		{name: "a heartbeat", node: func(n *corev1.Node) { n.Status.Phase = corev1.NodeRunning }},
		{name: "consolidatable", claim: func(c *unstructured.Unstructured) { condition(c, "Consolidatable", "True") }},
		{name: "an annotation of our own", claim: func(c *unstructured.Unstructured) {
			set(c, "x", "metadata", "annotations", "whittle.dev/seen")
		}},
		{name: "not drifted", claim: func(c *unstructured.Unstructured) { condition(c, "Drifted", "False") }},
		{name: "a taint", node: func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "karpenter.sh/disrupted"}}
		}, want: "karpenter.sh/disrupted"},
		{name: "cordoned", node: func(n *corev1.Node) { n.Spec.Unschedulable = true }, want: "cordoned"},
		{name: "a node gone", node: func(*corev1.Node) {}, kind: watch.Deleted, want: "DELETED"},
		{name: "another node", node: func(n *corev1.Node) { n.Name = "two" }, want: "node two"},
		{name: "a label of a node", node: func(n *corev1.Node) {
			n.Labels = nil
		}, want: "lost the label karpenter.sh/nodepool"},
		{name: "drifted", claim: func(c *unstructured.Unstructured) { condition(c, "Drifted", "True") }, want: "is Drifted"},
		{name: "another spec", claim: func(c *unstructured.Unstructured) {
			set(c, "1h", "spec", "expireAfter")
		}, want: "720h"},
		{name: "another hash", claim: func(c *unstructured.Unstructured) {
			set(c, "2", "metadata", "annotations", "karpenter.sh/nodepool-hash")
		}, want: "nodepool-hash"},
		{name: "a hash of another version", claim: func(c *unstructured.Unstructured) {
			set(c, "2", "metadata", "annotations", "karpenter.k8s.aws/ec2nodeclass-hash")
			set(c, "v6", "metadata", "annotations", "karpenter.k8s.aws/ec2nodeclass-hash-version")
		}},
		{name: "another hash of the same version", claim: func(c *unstructured.Unstructured) {
			set(c, "2", "metadata", "annotations", "karpenter.k8s.aws/ec2nodeclass-hash")
		}, want: "ec2nodeclass-hash"},
		{name: "a finalizer", claim: func(c *unstructured.Unstructured) { c.SetFinalizers(nil) }, want: "finalizers"},
		{name: "a claim gone", claim: func(*unstructured.Unstructured) {}, kind: watch.Deleted, want: "DELETED"},
		{name: "no longer initialized", claim: func(c *unstructured.Unstructured) {
			set(c, []any{}, "status", "conditions")
		}, want: "no longer Initialized"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := &guard{
				world: quietWorld{map[string]time.Time{"i-1": {}}}, instances: []string{"i-1"},
				nodes:  map[string]*corev1.Node{"one": guardedNode()},
				claims: map[string]*unstructured.Unstructured{"claim": guardedClaim()},
			}
			if test.kind == "" {
				test.kind = watch.Modified
			}
			if test.node != nil {
				node := guardedNode()
				test.node(node)
				g.node(test.kind, node)
			}
			if test.claim != nil {
				claim := guardedClaim()
				test.claim(claim)
				g.claim(test.kind, claim)
			}
			err := g.violations()
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("violations are %v, want %q", err, test.want)
			}
		})
	}
}

func TestGuardSeesInstances(t *testing.T) {
	g := &guard{
		world: quietWorld{map[string]time.Time{"i-1": {}, "i-2": {}}}, instances: []string{"i-1"},
		nodes: map[string]*corev1.Node{"one": guardedNode()},
	}
	if err := g.violations(); err == nil || !strings.Contains(err.Error(), "i-2") {
		t.Errorf("an instance that was launched: %v", err)
	}
}
