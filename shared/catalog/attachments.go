package catalog

import "github.com/whittle-dev/whittle/shared/api"

// attachments returns how many EBS volumes the pods of a node can have attached, or zero if that is
// not known. EC2's number leaves out the first network interface, disks and accelerators. The
// node's own volumes take from it. Where it is shared, so do further interfaces: those of the class,
// else the one that the VPC CNI attaches at once. See
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/volume_limits.html.
func attachments(info *InstanceTypeInfo, class *api.EC2NodeClass) int {
	if info.MaximumEbsAttachments == 0 {
		return 0
	}
	own := len(class.Spec.BlockDeviceMappings)
	switch {
	case own == 0 && family(class) == api.AMIFamilyBottlerocket:
		own = 2
	case own == 0:
		own = 1
	}
	left := info.MaximumEbsAttachments - own
	if info.AttachmentLimitType == "shared" {
		left -= max(1, len(class.Spec.NetworkInterfaces)-1)
	}
	return max(1, left)
}
