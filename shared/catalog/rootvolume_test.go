package catalog_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
)

// TestTheRootVolumeHoldsTheKubeletsData holds that rootVolume decides which disk is for pods, not
// the name of the device.
func TestTheRootVolumeHoldsTheKubeletsData(t *testing.T) {
	disk := func(device, size string, root bool) *api.BlockDeviceMapping {
		amount := resource.MustParse(size)
		return &api.BlockDeviceMapping{DeviceName: &device, RootVolume: root, EBS: &api.BlockDevice{VolumeSize: &amount}}
	}
	for root, want := range map[bool]string{true: "300Gi", false: "100Gi"} {
		got := resolved(t, "m5.large", func(class *api.EC2NodeClass) {
			class.Spec.BlockDeviceMappings = []*api.BlockDeviceMapping{
				disk("/dev/xvda", "100Gi", false), disk("/dev/xvdb", "300Gi", root),
			}
		}).Capacity[corev1.ResourceEphemeralStorage]
		if got.Cmp(resource.MustParse(want)) != 0 {
			t.Errorf("rootVolume %t: the node has %s for pods, want %s", root, got.String(), want)
		}
	}
}
