package world_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/testdata/lab/scenario"
	"github.com/whittle-dev/whittle/testdata/lab/world"
)

// memoryOf returns a function's memory size in Lambda.
func memoryOf(t *testing.T, w *world.World, function string) int {
	t.Helper()
	configuration, err := w.Lambda.Configuration("whittle-test-" + function)
	if err != nil {
		t.Fatal(err)
	}
	return configuration.MemoryMB
}

// updates changes the stack with the real command line: in place, and with a failure.
func updates(t *testing.T, w *world.World) {
	_, before, err := w.Stack()
	if err != nil {
		t.Fatal(err)
	}
	changes := []string{"memory=lifecycle=512", "logRetention=30", "tags=team=platform"}
	start := time.Now()
	if err := w.Deploy(t.Context(), changes...); err != nil {
		t.Fatal(err)
	}
	t.Logf("updated in %.1f s", time.Since(start).Seconds())
	status, after, err := w.Stack()
	if err != nil || status != "UPDATE_COMPLETE" || memoryOf(t, w, "lifecycle") != 512 {
		t.Errorf("%s, %v, lifecycle has %d MB", status, err, memoryOf(t, w, "lifecycle"))
	}
	if !maps.Equal(before, after) {
		t.Errorf("resources were replaced: %v before, %v after", before, after)
	}

	err = w.Deploy(t.Context(), "memory=lifecycle=1024", "permissionBoundary=arn:aws:iam::123456789012:policy/nobody")
	if err == nil || !strings.Contains(err.Error(), "policy/nobody") {
		t.Errorf("a boundary that does not exist: %v", err)
	}
	status, rolled, err := w.Stack()
	if err != nil || status != "UPDATE_ROLLBACK_COMPLETE" || memoryOf(t, w, "lifecycle") != 512 ||
		!maps.Equal(before, rolled) {
		t.Errorf("after a failed update: %s, %v, lifecycle has %d MB", status, err, memoryOf(t, w, "lifecycle"))
	}
}

// removed destroys the stack. Its own resources go, and people's objects stay.
func removed(t *testing.T, w *world.World, setup scenario.Setup) {
	node, err := w.NodeRole()
	if err != nil {
		t.Fatal(err)
	}
	before, _, err := w.Stack()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Destroy(t.Context()); err == nil {
		t.Error("a protected stack is removed")
	}
	if status, _, err := w.Stack(); err != nil || status != before {
		t.Errorf("after a refused removal the stack is %s, not %s, %v", status, before, err)
	}
	if err := w.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Running nodes need their role.
	if !w.HasRole(node) {
		t.Errorf("the nodes' role %s is gone", node)
	}
	for _, function := range []string{"provision", "install"} {
		if _, err := w.Lambda.Configuration("whittle-test-" + function); err == nil {
			t.Errorf("function %s is there still", function)
		}
	}
	if status, left, err := w.Stack(); err == nil && (status != "DELETE_COMPLETE" || len(left) > 0) {
		t.Errorf("the stack is %s, with %v", status, left)
	}
	if _, err := setup.Client.Objects.Resource(api.NodePoolGVR()).Get(t.Context(), "default",
		metav1.GetOptions{}); err != nil {
		t.Errorf("the NodePool: %v, want it kept", err)
	}
	for _, role := range []string{"whittle:provision", "whittle:lifecycle"} {
		roles := setup.Client.Objects.Resource(schema.GroupVersionResource{
			Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles",
		})
		if _, err := roles.Get(t.Context(), role, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("the ClusterRole %s: %v, want none", role, err)
		}
	}
}
