package nodeclass

import (
	"math"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
)

// BlockDevices returns the disks of the class's nodes, or those of its family. The family Custom
// has none, because its images define their disks.
func BlockDevices(class *api.EC2NodeClass) []*api.BlockDeviceMapping {
	family := class.AMIFamily()
	switch {
	case len(class.Spec.BlockDeviceMappings) > 0 || family == api.AMIFamilyCustom:
		return class.Spec.BlockDeviceMappings
	case family == api.AMIFamilyBottlerocket:
		// The first disk is read-only and holds the operating system. The second holds images and
		// pods. The first is at least as large as the image's snapshot.
		return []*api.BlockDeviceMapping{volume("/dev/xvda", "6Gi"), volume("/dev/xvdb", "20Gi")}
	case strings.HasPrefix(family, "Windows"):
		return []*api.BlockDeviceMapping{volume("/dev/sda1", "50Gi")}
	}
	return []*api.BlockDeviceMapping{volume("/dev/xvda", "20Gi")}
}

// WholeGiB returns the size of a volume in GiB. EC2 uses whole ones, so other sizes are rounded up.
func WholeGiB(size resource.Quantity) int64 {
	return int64(math.Ceil(size.AsApproximateFloat64() / (1 << 30)))
}

func volume(name, size string) *api.BlockDeviceMapping {
	kind, encrypted, quantity := "gp3", true, resource.MustParse(size)
	return &api.BlockDeviceMapping{
		DeviceName: &name, EBS: &api.BlockDevice{Encrypted: &encrypted, VolumeType: &kind, VolumeSize: &quantity},
	}
}
