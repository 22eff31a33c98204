package nodeclass

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
)

// BlockDevices are the disks of the class's nodes: its own, or its family's.
// Images of the family Custom say themselves what they need.
func BlockDevices(class *api.EC2NodeClass) []*api.BlockDeviceMapping {
	family := class.AMIFamily()
	switch {
	case len(class.Spec.BlockDeviceMappings) > 0 || family == api.AMIFamilyCustom:
		return class.Spec.BlockDeviceMappings
	case family == api.AMIFamilyBottlerocket:
		// The operating system's disk, which is read only, and that of images and pods.
		return []*api.BlockDeviceMapping{volume("/dev/xvda", "4Gi"), volume("/dev/xvdb", "20Gi")}
	case strings.HasPrefix(family, "Windows"):
		return []*api.BlockDeviceMapping{volume("/dev/sda1", "50Gi")}
	}
	return []*api.BlockDeviceMapping{volume("/dev/xvda", "20Gi")}
}

func volume(name, size string) *api.BlockDeviceMapping {
	kind, encrypted, quantity := "gp3", true, resource.MustParse(size)
	return &api.BlockDeviceMapping{
		DeviceName: &name, EBS: &api.BlockDevice{Encrypted: &encrypted, VolumeType: &kind, VolumeSize: &quantity},
	}
}
