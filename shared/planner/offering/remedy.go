package offering

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/catalog"
)

// Remedy is what a person can do about a resource of which nodes have too little. Of some the EC2NodeClass
// decides, whatever the type. otherwise is the remedy for the resources that EC2's types differ in.
func Remedy(name corev1.ResourceName, otherwise string) string {
	switch {
	case name == corev1.ResourceEphemeralStorage:
		return "lower the request, or raise spec.blockDeviceMappings[].ebs.volumeSize of the root volume in its " +
			"EC2NodeClass, or set spec.instanceStorePolicy: RAID0 there and allow types with disks of their own"
	case name == corev1.ResourcePods:
		return "raise spec.kubelet.maxPods or spec.kubelet.podsPerCore of its EC2NodeClass, or allow types with more " +
			"network interfaces in spec.template.spec.requirements"
	case !catalog.IsResourceOfEC2(name):
		return "no instance type of EC2 has it by itself, so declare it by a NodeOverlay (spec.capacity) for the types " +
			"whose nodes have it, or correct the name"
	}
	return otherwise
}
