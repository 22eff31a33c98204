package planning

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"
)

// TestAPanicStaysWithItsPod has a planner that panics on one of three pods.
func TestAPanicStaysWithItsPod(t *testing.T) {
	s := &plan.Snapshot{Pods: make([]corev1.Pod, 3)}
	for i, name := range []string{"a", "hostile", "b"} {
		s.Pods[i].Name = name
	}
	planned := 0
	made := solveWith(func(s *plan.Snapshot) *plan.Plan {
		if slices.ContainsFunc(s.Pods, func(pod corev1.Pod) bool { return pod.Name == "hostile" }) {
			panic("no such label")
		}
		planned = len(s.Pods)
		return planner.Solve(s)
	}, s)
	left := slices.IndexFunc(made.Unplaced, func(u plan.Unplaced) bool { return u.Pod.Name == "hostile" })
	if planned != 2 || left < 0 || !strings.Contains(made.Unplaced[left].Reasons[0].Message, "no such label") ||
		!strings.Contains(made.Fault(), "no such label") {
		t.Errorf("the last plan is for %d pods, the fault %q, unplaced %+v", planned, made.Fault(), made.Unplaced)
	}
}
