package provision

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/inventory"
)

// TestPlansUseTheMemoryOfEarlierNodes: an m5.large has 8192 MiB, of which Whittle expects Linux to
// find 7577. The kubelet for 58 pods (893 MiB) and the eviction threshold (100 MiB) leave 6584. A
// node that was seen with 7900 MiB leaves 6907, which is enough for the pod.
func TestPlansUseTheMemoryOfEarlierNodes(t *testing.T) {
	for name, test := range map[string]struct {
		memory int64
		want   string
	}{
		"nothing seen":       {0, "m5.xlarge"},
		"more than expected": {7900 << 20, "m5.large"},
		"less than expected": {7000 << 20, "m5.xlarge"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnvironment(t)
			t.Cleanup(func() {
				_ = e.core.CoreV1().ConfigMaps("whittle-system").Delete(
					context.WithoutCancel(t.Context()), "whittle-learned-capacity", metav1.DeleteOptions{})
			})
			e.pod("first", "1", nil)
			if _, err := e.handler(alive()).handle(t.Context(), tick("1")); err != nil {
				t.Fatal(err)
			}
			first := e.claims()
			if len(first) != 1 || first[0].Status.ImageID == "" {
				t.Fatalf("claims %+v: want one with its image", first)
			}
			seen := &catalog.Learned{}
			seen.Observe("m5.large", first[0].Status.ImageID, test.memory, time.Now())
			_, err := inventory.PutLearned(t.Context(), e.client, seen, time.Now())
			e.try(err)
			e.pod("big", "1500m", func(pod *corev1.Pod) {
				pod.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = resource.MustParse("6700Mi")
			})
			if _, err := e.handler(alive()).handle(t.Context(), tick("2")); err != nil {
				t.Fatal(err)
			}
			for _, claim := range e.claims() {
				if claim.Name == first[0].Name {
					continue
				}
				if got := claim.Labels[corev1.LabelInstanceTypeStable]; got != test.want {
					t.Errorf("the pod gets %s, want %s", got, test.want)
				}
				return
			}
			t.Error("the pod gets no node")
		})
	}
}
