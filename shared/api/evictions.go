package api

import (
	"maps"
	"strings"
)

// EvictionHard completes a class's thresholds of hard evictions (own, by signal) with
// those that nodes of the AMI family have by themselves. A kubelet that is given one
// threshold forgets its own, so that nodes are told, and planned with, all of them.
//
// Linux: https://awslabs.github.io/amazon-eks-ami/nodeadm/; Windows, which keeps more
// memory free: https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#hard-eviction-thresholds
func EvictionHard(family string, own map[string]string) map[string]string {
	thresholds := map[string]string{"memory.available": "100Mi", "nodefs.available": "10%", "nodefs.inodesFree": "5%"}
	if strings.HasPrefix(family, "Windows") {
		thresholds = map[string]string{"memory.available": "500Mi", "nodefs.available": "10%", "imagefs.available": "15%"}
	}
	maps.Copy(thresholds, own)
	return thresholds
}
