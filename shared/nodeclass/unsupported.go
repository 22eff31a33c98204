package nodeclass

import (
	"fmt"
	"strings"

	"github.com/whittle-dev/whittle/shared/api"
)

// Unsupported returns the fields of the class that its AMI family does not support, each with the
// remedy. A node without them would differ from its owner's intent.
func Unsupported(class *api.EC2NodeClass) []string {
	spec := &class.Spec
	var fields []string
	refuse := func(set bool, field, mend string) {
		if set {
			fields = append(fields, fmt.Sprintf("ec2nodeclass %q: spec.%s: %s", class.Name, field, mend))
		}
	}
	family := class.AMIFamily()
	windows := strings.HasPrefix(family, "Windows")
	refuse(
		windows && spec.InstanceStorePolicy != nil, "instanceStorePolicy",
		family+" joins no disks by itself: remove it, and format the disks in spec.userData",
	)
	refuse(
		windows && spec.Kubelet != nil && spec.Kubelet.CPUCFSQuota != nil, "kubelet.cpuCFSQuota",
		"Windows has no CPU quota of this kind: remove it",
	)
	several := len(spec.NetworkInterfaces) > 1 && spec.AssociatePublicIPAddress != nil && *spec.AssociatePublicIPAddress
	refuse(
		several, "associatePublicIPAddress",
		"EC2 gives no public address to an instance with several networkInterfaces: remove one of the two",
	)
	return fields
}
