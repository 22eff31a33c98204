package planner

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestAmounts(t *testing.T) {
	for _, test := range []struct {
		name     corev1.ResourceName
		quantity string
		up, down int64
	}{
		{corev1.ResourceCPU, "1500m", 1500, 1500},
		{corev1.ResourceCPU, "1n", 1, 0},
		{corev1.ResourceMemory, "1Gi", 1 << 30, 1 << 30},
		{corev1.ResourceMemory, "1500m", 2, 1},
		// As many as do not fit into 64 bits, in thousandths or at all.
		{corev1.ResourceCPU, "9223372036854775807", beyond, beyond},
		{corev1.ResourceCPU, "1e16", beyond, beyond},
		{corev1.ResourceCPU, "1e30", beyond, beyond},
		{corev1.ResourceMemory, "9E", beyond, beyond},
		{corev1.ResourceMemory, "100E", beyond, beyond},
	} {
		t.Run(string(test.name)+" "+test.quantity, func(t *testing.T) {
			quantity := resource.MustParse(test.quantity)
			if up, down := amountUp(test.name, &quantity), amountDown(test.name, &quantity); up != test.up || down != test.down {
				t.Errorf("counted as %d up and %d down, want %d and %d", up, down, test.up, test.down)
			}
		})
	}
}
