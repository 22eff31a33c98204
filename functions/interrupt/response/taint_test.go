package response_test

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/functions/interrupt/response"
	"github.com/whittle-dev/whittle/shared/api"
)

// TestTheTaintSaysWhyTheNodeLeaves holds that people read the reason off the node, and that a node with the taint
// keeps its first one.
func TestTheTaintSaysWhyTheNodeLeaves(t *testing.T) {
	node := &corev1.Node{}
	patch, err := json.Marshal(response.Taint(node, "SpotInterrupted"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"annotations":{"whittle.dev/interrupted":"SpotInterrupted"}`, api.DisruptedTaintKey,
		api.LabelExcludeFromLoadBalancers,
	} {
		if !strings.Contains(string(patch), want) {
			t.Errorf("lacks %s: %s", want, patch)
		}
	}
	node.Spec.Taints = []corev1.Taint{api.DisruptedNoScheduleTaint()}
	if again := response.Taint(node, "InstanceStopping"); again != nil {
		t.Errorf("a node with the taint gets %v", again)
	}
}
