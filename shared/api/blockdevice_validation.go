package api

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
)

const maxBlockDeviceMappings = 50

// volumeTypes returns the EBS volume types.
// https://docs.aws.amazon.com/ebs/latest/userguide/ebs-volume-types.html
func volumeTypes() []string {
	return []string{"standard", "io1", "io2", "gp2", "gp3", "sc1", "st1"}
}

func (f *findings) validateBlockDevices(path string, mappings []*BlockDeviceMapping) {
	if len(mappings) > maxBlockDeviceMappings {
		f.addField(path, "has %d entries: remove all but %d", len(mappings), maxBlockDeviceMappings)
	}
	root := -1
	for i, mapping := range mappings {
		at := fmt.Sprintf("%s[%d]", path, i)
		if mapping == nil {
			f.addField(at, "is null: write a mapping, or remove it")
			continue
		}
		if mapping.RootVolume {
			if root >= 0 {
				f.add(at+".rootVolume", true, "is set on %s[%d] already: set it on one mapping only", path, root)
			} else {
				root = i
			}
		}
		if mapping.EBS != nil {
			f.validateVolume(at+".ebs", *mapping.EBS)
		}
	}
}

func (f *findings) validateVolume(path string, v BlockDevice) {
	if v.SnapshotID == nil && v.VolumeSize == nil {
		f.addField(path, "has neither snapshotID nor volumeSize: set one of them")
	}
	if v.VolumeSize != nil {
		// The largest volume type holds 64 TiB. The schema writes the bound in GiB.
		least, most := resource.MustParse("1G"), resource.MustParse("64T")
		if v.VolumeSize.Cmp(least) < 0 || v.VolumeSize.Cmp(most) > 0 {
			f.add(path+".volumeSize", v.VolumeSize.String(), "is out of range: use a size from 1Gi to 58Ti")
		}
	}
	if v.VolumeType != nil && !slices.Contains(volumeTypes(), *v.VolumeType) {
		f.add(path+".volumeType", *v.VolumeType, "is not a volume type: use one of %s", join(volumeTypes()))
	}
	if rate := v.VolumeInitializationRate; rate != nil {
		f.validateRange(path+".volumeInitializationRate", asInt64(rate), 100, 300)
		if v.SnapshotID == nil || *v.SnapshotID == "" {
			f.add(path+".volumeInitializationRate", *rate,
				"needs snapshotID: only a volume that is made from a snapshot is initialized")
		}
	}
}
