package api

import (
	"maps"
	"strings"
)

// EvictionHard returns the hard eviction thresholds of a node, by signal: those of the AMI family,
// overridden by those of its node class. A kubelet that is given one threshold drops its built-in
// ones, so Whittle passes the full set, and plans with the full set. Values are quantities or
// percentages.
//
// Linux: https://awslabs.github.io/amazon-eks-ami/nodeadm/ Windows, which keeps more memory free:
// https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#hard-eviction-thresholds
func EvictionHard(family string, ofClass map[string]string) map[string]string {
	thresholds := map[string]string{"memory.available": "100Mi", "nodefs.available": "10%", "nodefs.inodesFree": "5%"}
	if strings.HasPrefix(family, "Windows") {
		thresholds = map[string]string{"memory.available": "500Mi", "nodefs.available": "10%", "imagefs.available": "15%"}
	}
	maps.Copy(thresholds, ofClass)
	return thresholds
}
