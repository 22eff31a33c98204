package catalog

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/kubelet"
)

// kubeReserved returns the resources that a node of the type reserves for the kubelet and the
// container runtime. The class overrides the amounts of the AMI family.
func (m *model) kubeReserved(info *InstanceTypeInfo) corev1.ResourceList {
	reserved := m.reservedByImage(info)
	if own := m.class.Spec.Kubelet; own != nil {
		for name := range reserved {
			if amount, ok := quantity(own.KubeReserved[string(name)]); ok {
				reserved[name] = amount
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
// class's own, and the values of the class's expressions. It returns nil where the image computes the
// same values. Each type with settings
// needs its own launch template.
func (m *model) kubeletSettings(info *InstanceTypeInfo) *api.KubeletConfiguration {
	own := m.class.Spec.Kubelet
	if own == nil {
		own = &api.KubeletConfiguration{}
	}
	made := &api.KubeletConfiguration{}
	of := family(m.class)
	_, windows := windowsBuild(of)
	if of != api.AMIFamilyCustom {
		m.addValues(made)
	}
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
	if made.MaxPods == nil && made.KubeReserved == nil && made.SystemReserved == nil {
		return nil
	}
	return made
}

// readExpressions finds the class's kubelet expressions and their values.
func (m *model) readExpressions() {
	if m.expressions = m.class.Spec.Kubelet.Expressions(); len(m.expressions) > 0 {
		evaluation, _ := m.observed.Kubelet.Of(m.class)
		m.values = evaluation.Types
	}
}

// of returns the model for one instance type: its class has values in the place of expressions. It
// returns false where they are not known.
func (m *model) of(info *InstanceTypeInfo) (*model, bool) {
	if len(m.expressions) == 0 {
		return m, true
	}
	values, known := m.values[info.InstanceType]
	if !known {
		return nil, false
	}
	class, own := *m.class, *m
	class.Spec.Kubelet = kubelet.Resolved(class.Spec.Kubelet, values)
	own.class = &class
	return &own, true
}

// addValues adds the settings that the class has as expressions.
func (m *model) addValues(made *api.KubeletConfiguration) {
	own := m.class.Spec.Kubelet
	for _, expression := range m.expressions {
		switch expression.Field {
		case api.KubeletMaxPods:
			made.MaxPods = own.MaxPods
		case api.KubeletKubeReserved:
			made.KubeReserved = own.KubeReserved
		case api.KubeletSystemReserved:
			made.SystemReserved = own.SystemReserved
		}
	}
}
