package planner_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/planner"
)

// TestImportantPodsFirst checks who gets the nodes that a limit allows: the pods of the highest
// priority, and among equals the oldest.
func TestImportantPodsFirst(t *testing.T) {
	high := int32(1000)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	tests := []struct {
		name   string
		change func(i int, p *corev1.Pod)
		// important has the pods that must get places.
		important func(i int) bool
	}{
		{"priority", func(i int, p *corev1.Pod) {
			if i < 20 {
				p.Spec.Priority = &high
			}
		}, func(i int) bool { return i < 20 }},
		{"age", func(i int, p *corev1.Pod) {
			p.CreationTimestamp = metav1.NewTime(now.Add(time.Duration(-i) * time.Minute))
		}, func(i int) bool { return i >= 270 }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := realSnapshot(t, newPool("default", limitCPU("64")))
			for i := range 300 {
				// The important pods are the smallest, which packing alone would take last.
				cpu := 500 + 10*((i*37)%300)
				if test.important(i) {
					cpu = 300
				}
				p := newPod(fmt.Sprintf("pod-%03d", i), fmt.Sprintf("%dm", cpu), fmt.Sprintf("%dMi", 2*cpu))
				test.change(i, &p)
				s.Pods = append(s.Pods, p)
			}
			plan := planner.Solve(s)
			out := map[string]bool{}
			for _, u := range plan.Unplaced {
				out[u.Pod.Name] = true
			}
			if len(out) == 0 || len(plan.NodeClaims) == 0 {
				t.Fatalf("%d pods are left out, %d claims", len(out), len(plan.NodeClaims))
			}
			var wrong []string
			for i := range s.Pods {
				if test.important(i) && out[s.Pods[i].Name] {
					wrong = append(wrong, s.Pods[i].Name)
				}
			}
			if len(wrong) > 0 {
				t.Errorf("important pods are left out: %s", strings.Join(wrong, ", "))
			}
		})
	}
}
