package disrupt

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/functions/functiontest"
)

// unschedulable creates a pod that the scheduler found no node for a moment ago.
func unschedulable(t *testing.T, name, cores string) {
	t.Helper()
	server.Pod(t, name, "", func(pod *corev1.Pod) {
		pod.Spec.SchedulerName = "nobody"
		pod.Spec.Containers[0].Resources.Requests = supply(corev1.ResourceCPU, cores)
	})
	server.Patch(t, functiontest.PodsPath+"/"+name+"/status", map[string]any{"status": map[string]any{
		"phase": "Pending", "startTime": nil, "conditions": []map[string]any{
			{"type": "PodScheduled", "status": "False", "reason": corev1.PodReasonUnschedulable},
		},
	}})
}

// TestNewPodsKeepTheNodesThatTheyNeed has two empty nodes, a new pod that fits one of them, and a new pod
// that fits none.
func TestNewPodsKeepTheNodesThatTheyNeed(t *testing.T) {
	pool(t, "100%")
	initialized(t, "one", "other")
	l := newHarness(t, nil)
	l.mustTick(t)
	unschedulable(t, "hopeless", "500")
	unschedulable(t, "fits", "1")
	l.ahead = 7 * time.Second
	l.mustTick(t)
	if isEnding(t, "one") == isEnding(t, "other") {
		t.Fatalf("one is ending: %t, the other: %t", isEnding(t, "one"), isEnding(t, "other"))
	}
	l.ahead = 40 * time.Second // the pod has not come
	l.mustTick(t)
	if !isEnding(t, "one") || !isEnding(t, "other") {
		t.Errorf("one is ending: %t, the other: %t", isEnding(t, "one"), isEnding(t, "other"))
	}
}
