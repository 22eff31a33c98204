package catalog

import (
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/api"
)

// suits reports whether the type supports the class's settings. EC2 would refuse to launch one that
// does not.
func (m *model) suits(info *InstanceTypeInfo) bool {
	class := m.class
	// Amazon Linux 2023 needs a processor with the extensions that Graviton has had since its
	// second generation (https://docs.aws.amazon.com/linux/al2023/ug/system-requirements.html).
	if family(class) == api.AMIFamilyAL2023 && strings.HasPrefix(info.InstanceType, "a1.") {
		return false
	}
	if class.Spec.ConnectionTracking != nil && info.Hypervisor != "nitro" {
		return false
	}
	if o := class.Spec.CPUOptions; o != nil && o.NestedVirtualization != nil && *o.NestedVirtualization == "enabled" &&
		!slices.Contains(info.SupportedFeatures, "nested-virtualization") {
		return false
	}
	if class.Enclaves() && !info.NitroEnclavesSupport {
		return false
	}
	if m.group != nil && !slices.Contains(info.PlacementGroupStrategies, m.group.Strategy) {
		return false
	}
	return suitsInterfaces(&info.Network, class) && suitsPrefixes(info, class)
}

// suitsInterfaces reports whether the type has a place for each network interface of the class.
func suitsInterfaces(network *NetworkInfo, class *api.EC2NodeClass) bool {
	if len(class.Spec.NetworkInterfaces) == 0 {
		return true
	}
	if network.EnaSupport == "unsupported" || efaOnly(class, nil) > network.MaximumEfaInterfaces {
		return false
	}
	for _, n := range class.Spec.NetworkInterfaces {
		if int(n.DeviceIndex) >= network.interfacesOf(int(n.NetworkCardIndex)) {
			return false
		}
	}
	return true
}

// interfacesOf returns the number of interfaces of a network card, or zero without such a card.
func (n *NetworkInfo) interfacesOf(card int) int {
	switch {
	case card < len(n.CardInterfaces):
		return n.CardInterfaces[card]
	case card == 0:
		return n.MaximumNetworkInterfaces
	}
	return 0
}

// suitsPrefixes reports whether the first interface can have the class's number of prefixes. A
// prefix takes the place of one address, and the interface keeps one address. Prefixes need the
// Nitro hypervisor or bare metal.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-prefix-eni.html
func suitsPrefixes(info *InstanceTypeInfo, class *api.EC2NodeClass) bool {
	if class.Spec.IPPrefixCount == nil || *class.Spec.IPPrefixCount <= 0 {
		return true
	}
	return info.Hypervisor != "xen" && int(*class.Spec.IPPrefixCount) < info.Network.Ipv4AddressesPerInterface
}
