package protection_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/disruption/protection"
)

func TestEvictionCost(t *testing.T) {
	for _, test := range []struct {
		deletionCost string
		priority     int32
		want         float64
	}{
		{"", 0, 1}, {"134217728", 0, 2}, {"-134217728", 0, 0}, {"", 1 << 25, 2}, {"many", 0, 1}, {"99999999999999", 0, 1},
		{"2147483647", 2000000000, 10}, {"-2147483647", -2147483648, -10},
	} {
		p := &corev1.Pod{Spec: corev1.PodSpec{Priority: &test.priority}}
		p.Annotations = map[string]string{"controller.kubernetes.io/pod-deletion-cost": test.deletionCost}
		if got := protection.EvictionCost(p, false); got != test.want {
			t.Errorf("deletion cost %q, priority %d: %v, want %v", test.deletionCost, test.priority, got, test.want)
		}
	}
}

func TestTheOwnersDisruptionCostWins(t *testing.T) {
	for _, test := range []struct {
		annotations map[string]string
		want        float64
	}{
		{map[string]string{"karpenter.sh/disruption-cost": "134217728"}, 2},
		{map[string]string{"karpenter.sh/disruption-cost": "-134217728",
			"controller.kubernetes.io/pod-deletion-cost": "134217728"}, 0},
		{map[string]string{"karpenter.sh/disruption-cost": "much",
			"controller.kubernetes.io/pod-deletion-cost": "134217728"}, 1},
		{map[string]string{"karpenter.sh/disruption-cost": "1.5"}, 1},
	} {
		p := &corev1.Pod{}
		p.Annotations = test.annotations
		if got := protection.EvictionCost(p, false); got != test.want {
			t.Errorf("%v: %v, want %v", test.annotations, got, test.want)
		}
	}
}

// TestADeletionCostThatIsManagedIsNoWish holds that neither a cost that Whittle wrote counts, nor any
// while Whittle manages them. A cost that somebody has changed since is that person's.
func TestADeletionCostThatIsManagedIsNoWish(t *testing.T) {
	const cost, mark = "controller.kubernetes.io/pod-deletion-cost", "whittle.dev/pod-deletion-cost"
	for _, test := range []struct {
		annotations map[string]string
		managed     bool
		want        float64
	}{
		{map[string]string{cost: "134217728"}, false, 2},
		{map[string]string{cost: "134217728"}, true, 1},
		{map[string]string{cost: "134217728", "karpenter.sh/disruption-cost": "268435456"}, true, 3},
		{map[string]string{cost: "-2147483648", mark: "-2147483648"}, false, 1},
		{map[string]string{cost: "134217728", mark: "-2147483648"}, false, 2},
	} {
		p := &corev1.Pod{}
		p.Annotations = test.annotations
		if got := protection.EvictionCost(p, test.managed); got != test.want {
			t.Errorf("%v, managed %t: %v, want %v", test.annotations, test.managed, got, test.want)
		}
	}
}
