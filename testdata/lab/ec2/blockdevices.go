package ec2

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/whittle-dev/whittle/shared/catalog/builtin"
)

// checkDevices refuses block devices of a launch that EC2 refuses: one without a size, or one
// smaller than the image's.
func checkDevices(l *launch) error {
	for _, mapping := range l.data.BlockDeviceMappings {
		if mapping.Ebs == nil {
			continue
		}
		at := slices.IndexFunc(l.image.Devices, func(d ImageDevice) bool { return d.Name == mapping.DeviceName })
		switch {
		case mapping.DeviceName == "":
			return missing("deviceName")
		case at < 0 && mapping.Ebs.VolumeSize == nil && mapping.Ebs.SnapshotID == "":
			return refuse(codeMissingParameter, "The request must contain the parameter size or snapshotId")
		case at >= 0 && mapping.Ebs.VolumeSize != nil && *mapping.Ebs.VolumeSize < l.image.Devices[at].SizeGiB:
			return refuse("InvalidBlockDeviceMapping", "Volume of size %dGB is smaller than snapshot '%s', expect size>= %dGB",
				*mapping.Ebs.VolumeSize, derivedID("snap", l.image.ID+mapping.DeviceName), l.image.Devices[at].SizeGiB)
		}
	}
	return nil
}

// attachable is how many EBS volumes EC2 attaches to an instance of the type. Where the limit is shared,
// interfaces beside the first take from it.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/volume_limits.html
func attachable(facts *builtin.InstanceType, interfaces int) int {
	switch {
	case facts.EBS.MaximumAttachments == 0: // not known
		return math.MaxInt
	case facts.EBS.AttachmentLimitType != "shared":
		return facts.EBS.MaximumAttachments
	}
	return facts.EBS.MaximumAttachments - max(0, interfaces-1)
}

// checkAttachments refuses a launch with more volumes and interfaces than the type takes.
func checkAttachments(l *launch) error {
	names := map[string]bool{}
	for _, device := range l.image.Devices {
		names[device.Name] = true
	}
	for _, mapping := range l.data.BlockDeviceMappings {
		names[mapping.DeviceName] = mapping.Ebs != nil || names[mapping.DeviceName] && mapping.NoDevice == ""
	}
	maps.DeleteFunc(names, func(_ string, attached bool) bool { return !attached })
	if most := attachable(l.facts, len(l.interfaces)); len(names) > most {
		return refuse("AttachmentLimitExceeded", "Volume count %d exceeds the limit for %s: it takes %d.", len(names),
			l.facts.Name, most)
	}
	return nil
}

// VolumeRoom is how many volumes EC2 attaches to an instance beside its own. The VPC CNI attaches a second
// interface to a node as it starts. It is zero for an instance that does not exist.
func (s *Service) VolumeRoom(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, found := s.instances[id]
	if !found {
		return 0
	}
	return attachable(&i.Facts, max(2, len(i.interfaces))) - len(i.volumes)
}

// AttachVolume refuses a volume of a pod where so many are attached already, as EC2 does.
func (s *Service) AttachVolume(id string, attached int) error {
	if most := s.VolumeRoom(id); attached >= most {
		return refuse("AttachmentLimitExceeded", "Instance '%s' has %d volumes attached beside its own: it takes %d.", id,
			attached, most)
	}
	return nil
}

// volumesFor makes the volumes of the template's block devices, and those of the image that the
// template does not speak of.
func (s *Service) volumesFor(l *launch, now time.Time) []volume {
	var volumes []volume
	for _, device := range l.image.Devices {
		volumes = append(volumes, volume{
			device: device.Name, kind: "gp3", sizeGiB: device.SizeGiB, deleteOnTermination: true,
		})
	}
	for _, mapping := range l.data.BlockDeviceMappings {
		at := slices.IndexFunc(volumes, func(v volume) bool { return v.device == mapping.DeviceName })
		if mapping.NoDevice != "" && at >= 0 {
			volumes = slices.Delete(volumes, at, at+1)
		}
		if mapping.Ebs == nil {
			continue
		}
		if at < 0 {
			at = len(volumes)
			volumes = append(volumes, volume{device: mapping.DeviceName, kind: "gp2", deleteOnTermination: true})
		}
		volumes[at].apply(mapping.Ebs)
	}
	for n := range volumes {
		volumes[n].id, volumes[n].created, volumes[n].tags = s.identity.next("vol"), now, maps.Clone(l.volumeTags)
	}
	return volumes
}

// snapshotGiB is the size of snapshots that are not an image's: nothing here makes any.
const snapshotGiB = 8

func (v *volume) apply(ebs *ebsVolume) {
	setText(&v.kind, ebs.VolumeType)
	if ebs.SnapshotID != "" && v.sizeGiB == 0 {
		v.sizeGiB = snapshotGiB
	}
	if ebs.VolumeSize != nil {
		v.sizeGiB = *ebs.VolumeSize
	}
	if ebs.Encrypted != nil {
		v.encrypted = *ebs.Encrypted
	}
	if ebs.DeleteOnTermination != nil {
		v.deleteOnTermination = *ebs.DeleteOnTermination
	}
	if ebs.Iops != nil {
		v.iops = *ebs.Iops
	}
	if ebs.Throughput != nil {
		v.throughput = *ebs.Throughput
	}
}
