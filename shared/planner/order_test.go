package planner_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/planner"
	"github.com/whittle-dev/whittle/shared/planner/stagetest"
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

// TestTheOldestPodGetsTheOnlyNode has a limit that allows one node, which holds one of three pods.
// The largest pod seeds the first node, so that an older pod gets it only by its age.
func TestTheOldestPodGetsTheOnlyNode(t *testing.T) {
	for _, test := range []struct {
		oldest string
		// The minutes of the pods' creation.
		large, medium, small int
	}{
		{"large", 0, 15, 30}, {"medium", 15, 0, 30}, {"small", 15, 30, 0},
	} {
		t.Run(test.oldest, func(t *testing.T) {
			s := stagetest.Snapshot([]catalog.InstanceType{stagetest.Type("small", 2, 4, 0.05, "us-east-1a")})
			s.NodePools[0].Spec.Limits = api.Limits{corev1.ResourceCPU: resource.MustParse("3")}
			s.Pods = append(s.Pods, stagetest.Pod("large", "1500m", "1Gi", createdAt(test.large)),
				stagetest.Pod("medium", "1200m", "1Gi", createdAt(test.medium)),
				stagetest.Pod("small", "1", "1Gi", createdAt(test.small)))
			decided := planner.Solve(s)
			if len(decided.NodeClaims) != 1 || len(decided.Unplaced) != 2 {
				t.Fatalf("%d new nodes, and %d pods without a place", len(decided.NodeClaims), len(decided.Unplaced))
			}
			for _, out := range decided.Unplaced {
				if out.Pod.Name == test.oldest {
					t.Errorf("the oldest pod has no place: %v", out.Reasons)
				}
			}
		})
	}
}

// createdAt sets the minute of the pod's creation.
func createdAt(minute int) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.CreationTimestamp = metav1.NewTime(time.Date(2026, time.March, 1, 12, minute, 0, 0, time.UTC))
	}
}

// TestPodsThatDwarfThoseOnNewNodes has pods without any memory on new nodes, and more important ones
// with much, for which a limit leaves no room. The plan in order must come to an end.
func TestPodsThatDwarfThoseOnNewNodes(t *testing.T) {
	s := stagetest.Snapshot([]catalog.InstanceType{
		stagetest.Type("small", 2, 4, 0.05, "us-east-1a"), stagetest.Type("large", 8, 4_000_000_000, 0.4, "us-east-1a"),
	})
	s.NodePools[0].Spec.Limits = api.Limits{corev1.ResourceCPU: resource.MustParse("6")}
	for i := range 3 {
		s.Pods = append(s.Pods, stagetest.Pod(fmt.Sprintf("huge-%d", i), "1", "2000000000Gi", createdAt(i)))
	}
	s.Pods = append(s.Pods, stagetest.Pods(3, "thin", "1900m", "0", createdAt(30))...)
	decided := planner.Solve(s)
	if len(decided.Unplaced) != 3 || len(decided.NodeClaims) != 3 {
		t.Errorf("%d pods have no place, and there are %d new nodes", len(decided.Unplaced), len(decided.NodeClaims))
	}
}
