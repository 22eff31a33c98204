package nodeclass

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
)

// BlockDevices are the disks of the class's nodes: its own, or its family's.
func BlockDevices(class *api.EC2NodeClass) []*api.BlockDeviceMapping {
	if len(class.Spec.BlockDeviceMappings) > 0 || class.AMIFamily() == api.AMIFamilyCustom {
		return class.Spec.BlockDeviceMappings
	}
	name, kind, encrypted, size := "/dev/xvda", "gp3", true, resource.MustParse("20Gi")
	return []*api.BlockDeviceMapping{{
		DeviceName: &name,
		EBS:        &api.BlockDevice{Encrypted: &encrypted, VolumeType: &kind, VolumeSize: &size},
	}}
}
