package catalog

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
)

// kubeReserved is what a node of the type keeps for the kubelet and the container runtime: what the class says, and for resources of which it says
// nothing what the AMI families reserve by themselves.
func (m *model) kubeReserved(info *InstanceTypeInfo) corev1.ResourceList {
	reserved := m.reservedByImage(info)
	if kubelet := m.class.Spec.Kubelet; kubelet != nil {
		for name := range reserved {
			if own, ok := quantity(kubelet.KubeReserved[string(name)]); ok {
				reserved[name] = own
			}
		}
	}
	return reserved
}

// reservedByImage are the amounts that the AMI families reserve by themselves (https://github.com/awslabs/amazon-eks-ami: memory by the number of pods,
// processor time by the number of cores). Amazon Linux counts the pods that the type has addresses for, whatever maxPods says; Bottlerocket and
// Windows count maxPods.
func (m *model) reservedByImage(info *InstanceTypeInfo) corev1.ResourceList {
	count := addresses(info, 0)
	switch family(m.class) {
	case api.AMIFamilyAL2, api.AMIFamilyAL2023, api.AMIFamilyCustom:
	default:
		count = m.pods(info)
	}
	// In ten-thousandths of a core: 6 % of the first, 1 % of the second, 0.5 % of the third and fourth, 0.25 % of each further one. The images'
	// own scripts round down to whole millicores.
	var reserved int64
	for core := range info.DefaultVCpus {
		switch {
		case core == 0:
			reserved += 600
		case core == 1:
			reserved += 100
		case core < 4:
			reserved += 50
		default:
			reserved += 25
		}
	}
	return corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewMilliQuantity(reserved/10, resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(int64(11*count+255)*mebibyte, resource.BinarySI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(gibibyte, resource.BinarySI),
	}
}

// takenInterfaces is how many network interfaces of a node's default card are not for pods.
func (m *model) takenInterfaces() int {
	return m.settings.ReservedENIs + efaOnly(m.class, func(n api.NetworkInterface) bool { return n.NetworkCardIndex == 0 })
}

// told is what the kubelet of such a node must be told of its type, beside the class's own settings; nil where the node works it out by itself as it
// is worked out here. Each such type needs a launch template of its own.
func (m *model) told(info *InstanceTypeInfo) *api.KubeletConfiguration {
	own := m.class.Spec.Kubelet
	if own == nil {
		own = &api.KubeletConfiguration{}
	}
	made := &api.KubeletConfiguration{}
	of := family(m.class)
	_, windows := windowsBuild(of)
	// No image knows of interfaces that are not for pods. With Windows the number of pods does not depend on them, and a node of the family Custom
	// is told what its owner writes.
	if own.MaxPods == nil && m.takenInterfaces() > 0 && !windows && of != api.AMIFamilyCustom {
		pods := int32(m.pods(info))
		made.MaxPods = &pods
	}
	// A flag of the kubelet replaces all that the image has worked out, so that what the class leaves open must be in it as well. nodeadm and
	// Bottlerocket take the settings one by one. What Windows images reserve AWS does not say.
	if windows || of == api.AMIFamilyAL2 && len(own.KubeReserved) > 0 {
		made.KubeReserved = map[string]string{}
		maps.Copy(made.KubeReserved, own.KubeReserved)
		for name, amount := range m.kubeReserved(info) {
			made.KubeReserved[string(name)] = amount.String()
		}
	}
	if made.MaxPods == nil && made.KubeReserved == nil {
		return nil
	}
	return made
}
