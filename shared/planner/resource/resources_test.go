package resource_test

import (
	"testing"

	"github.com/whittle-dev/whittle/shared/planner/resource"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
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
		{corev1.ResourceCPU, "9223372036854775807", resource.MaxAmount, resource.MaxAmount},
		{corev1.ResourceCPU, "1e16", resource.MaxAmount, resource.MaxAmount},
		{corev1.ResourceCPU, "1e30", resource.MaxAmount, resource.MaxAmount},
		{corev1.ResourceMemory, "9E", resource.MaxAmount, resource.MaxAmount},
		{corev1.ResourceMemory, "100E", resource.MaxAmount, resource.MaxAmount},
	} {
		t.Run(string(test.name)+" "+test.quantity, func(t *testing.T) {
			quantity := apiresource.MustParse(test.quantity)
			if up, down := resource.AmountUp(test.name, &quantity), resource.AmountDown(test.name, &quantity); up != test.up ||
				down != test.down {
				t.Errorf("counted as %d up and %d down, want %d and %d", up, down, test.up, test.down)
			}
		})
	}
}
