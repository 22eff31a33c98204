package catalog

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
)

// kubeReserved returns the resources that a node of the type reserves for the kubelet and the
// container runtime. The class overrides the amounts of the AMI family.
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

// reservedByImage returns the amounts that the AMI families reserve: memory by the number of pods,
// and cpu by the number of cores. Amazon Linux counts the pods that have addresses, independent of
// maxPods. Bottlerocket and Windows count maxPods.
// https://github.com/awslabs/amazon-eks-ami
func (m *model) reservedByImage(info *InstanceTypeInfo) corev1.ResourceList {
	count := addresses(info, 0)
	switch family(m.class) {
	case api.AMIFamilyAL2, api.AMIFamilyAL2023, api.AMIFamilyCustom:
	default:
		count = m.pods(info)
	}
	// In ten-thousandths of a core: 6% of the first core, 1% of the second, 0.5% of the third and
	// fourth, 0.25% of each further core. The images' scripts round down to whole millicores.
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

// takenInterfaces returns the number of network interfaces of a node's default card that are not
// for pods.
func (m *model) takenInterfaces() int {
	return m.settings.ReservedENIs + efaOnly(m.class, func(n api.NetworkInterface) bool { return n.NetworkCardIndex == 0 })
}

// kubeletSettings returns the settings that the node's kubelet needs for its type, beyond the
// class's own. It returns nil where the image computes the same values. Each type with settings
// needs its own launch template.
func (m *model) kubeletSettings(info *InstanceTypeInfo) *api.KubeletConfiguration {
	own := m.class.Spec.Kubelet
	if own == nil {
		own = &api.KubeletConfiguration{}
	}
	made := &api.KubeletConfiguration{}
	of := family(m.class)
	_, windows := windowsBuild(of)
	// No image knows interfaces that are not for pods. On Windows the number of pods does not
	// depend on them. The owner of a class of the family Custom writes its settings.
	if own.MaxPods == nil && m.takenInterfaces() > 0 && !windows && of != api.AMIFamilyCustom {
		pods := int32(m.pods(info))
		made.MaxPods = &pods
	}
	// A flag of the kubelet replaces everything that the image computed, so it must contain the
	// values that the class leaves open. nodeadm and Bottlerocket accept single settings. AWS does
	// not document the reservations of Windows images.
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
