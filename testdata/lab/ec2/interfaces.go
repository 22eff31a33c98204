package ec2

import (
	"net/netip"
	"slices"
)

// launchInterface is one network interface of a launch.
type launchInterface struct {
	card, device int
	// kind is interface, efa or efa-only.
	kind string
	// addresses counts IPv4 addresses, the primary one among them; an efa-only interface has none.
	// prefixes counts delegated /28s.
	addresses, prefixes int
	groups              []string
	public              bool
	tracking            *connectionTracking
}

// Kinds of interfaces. https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html
const kindInterface, kindEFA, kindEFAOnly = "interface", "efa", "efa-only"

// resolveInterfaces creates the launch's interfaces and refuses those that its type cannot have.
func (s *Service) resolveInterfaces(l *launch) error {
	l.interfaces = nil
	if len(l.data.NetworkInterfaces) == 0 {
		l.interfaces = []launchInterface{{kind: kindInterface, addresses: 1, groups: l.securityGroups}}
		return nil
	}
	for _, wanted := range l.data.NetworkInterfaces {
		n, err := s.resolveInterface(l, wanted)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(l.interfaces, func(other launchInterface) bool {
			return other.card == n.card && other.device == n.device
		}) {
			return refuse(codeInvalidParameterValue,
				"Each network interface requires a unique device index on its network card: %d is used twice on card %d.", n.device,
				n.card)
		}
		l.interfaces = append(l.interfaces, n)
	}
	slices.SortStableFunc(l.interfaces, func(a, b launchInterface) int {
		return (a.card-b.card)*1000 + a.device - b.device
	})
	primary := l.interfaces[0]
	if primary.card != 0 || primary.device != 0 || primary.kind == kindEFAOnly {
		return refuse(codeInvalidParameterCombination,
			"An instance has a primary network interface with device index 0 on network card 0, and it is not efa-only.")
	}
	return checkInterfaceLimits(l)
}

func (s *Service) resolveInterface(l *launch, wanted networkInterface) (launchInterface, error) {
	n := launchInterface{
		card: orZero(wanted.NetworkCardIndex), device: orZero(wanted.DeviceIndex), kind: wanted.InterfaceType,
		prefixes: orZero(wanted.Ipv4PrefixCount), tracking: wanted.ConnectionTrackingSpecification,
	}
	if n.kind == "" {
		n.kind = kindInterface
	}
	n.public = wanted.AssociatePublicIPAddress != nil && *wanted.AssociatePublicIPAddress
	for _, name := range wanted.Groups {
		if group := s.vpc.group(name); group != nil && !slices.Contains(n.groups, group.id) {
			n.groups = append(n.groups, group.id)
		}
	}
	if len(n.groups) == 0 {
		n.groups = l.securityGroups
	}
	secondary := orZero(wanted.SecondaryPrivateIPAddressCount)
	if err := l.checkInterface(n, wanted); err != nil {
		return n, err
	}
	if n.kind != kindEFAOnly {
		n.addresses = 1 + secondary
	}
	// An interface has one slot for each address; a delegated prefix takes one.
	if slots := l.facts.Network.IPv4PerInterface; n.addresses+n.prefixes > max(slots, 1) {
		return n, refuse("PrivateIpAddressLimitExceeded",
			"Number of private addresses will exceed limit: an interface of %s has %d, for addresses and prefixes.",
			l.facts.Name, slots)
	}
	return n, checkTracking(wanted.ConnectionTrackingSpecification)
}

// checkInterface refuses an interface that the launch's type or network does not allow.
func (l *launch) checkInterface(n launchInterface, wanted networkInterface) error {
	secondary := orZero(wanted.SecondaryPrivateIPAddressCount)
	switch {
	case wanted.DeviceIndex == nil:
		return refuse(codeInvalidParameterValue, "Each network interface requires a device index.")
	case !slices.Contains([]string{kindInterface, kindEFA, kindEFAOnly}, n.kind):
		return invalidValue(n.kind, "interfaceType", "Expecting interface, efa or efa-only.")
	case n.kind != kindInterface && !l.facts.Network.EFASupported:
		return refuse(codeInvalidParameterCombination, "EFA interfaces are not supported on %s.", l.facts.Name)
	case n.card >= len(l.facts.Network.Cards):
		return invalidValue(n.card, "networkCardIndex", "The instance type "+l.facts.Name+" has no such network card.")
	case n.kind == kindEFAOnly && (n.prefixes+secondary > 0 || wanted.AssociatePublicIPAddress != nil):
		return refuse(codeInvalidParameterValue, "An interface of the type efa-only takes no addresses.")
	case n.public && len(l.data.NetworkInterfaces) > 1:
		return refuse(codeInvalidParameterCombination,
			"The associatePublicIPAddress parameter cannot be specified when launching with multiple network interfaces.")
	case wanted.wantsIPv6():
		return refuse(codeInvalidParameterValue,
			"The subnet has no IPv6 address range: no subnet of the local EC2 has one.")
	case wanted.ConnectionTrackingSpecification != nil && l.facts.Hypervisor == "xen":
		return refuse(codeUnsupported,
			"Connection tracking settings need an instance type of the Nitro system: %s is none.", l.facts.Name)
	}
	return nil
}

func (n networkInterface) wantsIPv6() bool {
	return orZero(n.Ipv6AddressCount)+orZero(n.Ipv6PrefixCount) > 0 || n.PrimaryIpv6 != nil && *n.PrimaryIpv6
}

func orZero(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// checkTracking holds the bounds of
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/security-group-connection-tracking.html, in
// seconds.
func checkTracking(t *connectionTracking) error {
	if t == nil {
		return nil
	}
	for _, c := range []struct {
		name        string
		value       *int
		least, most int
	}{
		{"tcpEstablishedTimeout", t.TCPEstablishedTimeout, 60, 432000}, {"udpStreamTimeout", t.UDPStreamTimeout, 60, 180},
		{"udpTimeout", t.UDPTimeout, 30, 60},
	} {
		if c.value != nil && (*c.value < c.least || *c.value > c.most) {
			return invalidValue(*c.value, c.name, "It is out of bounds.")
		}
	}
	return nil
}

// checkInterfaceLimits counts the interfaces of each card and the EFA among them.
func checkInterfaceLimits(l *launch) error {
	onCard, fabric := map[int]int{}, 0
	for _, n := range l.interfaces {
		onCard[n.card]++
		if n.kind != kindInterface {
			fabric++
		}
	}
	for _, card := range l.facts.Network.Cards {
		if onCard[card.Index] > max(card.MaximumInterfaces, 1) {
			return refuse("AttachmentLimitExceeded", "Interface count %d exceeds the limit for %s: network card %d takes %d.",
				onCard[card.Index], l.facts.Name, card.Index, card.MaximumInterfaces)
		}
	}
	if fabric > l.facts.Network.MaximumEFAInterfaces {
		return refuse("AttachmentLimitExceeded", "EFA interface count %d exceeds allowed limit for %s: it takes %d.", fabric,
			l.facts.Name, l.facts.Network.MaximumEFAInterfaces)
	}
	return nil
}

// prefixBits is the size of a delegated prefix: 16 addresses.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-prefix-eni.html
const prefixBits = 28

// takePrefix returns out a block of 16 free addresses, from the subnet's end, since single ones
// come from its start.
func (s *subnet) takePrefix() (netip.Prefix, bool) {
	blocks := 1 << (prefixBits - s.cidr.Bits())
	first := s.cidr.Addr().As4()
	start := int(first[2])<<8 | int(first[3])
	for n := blocks - 2; n >= 1; n-- { // AWS keeps addresses of the first and the last block
		at := start + n*16
		prefix := netip.PrefixFrom(netip.AddrFrom4([4]byte{first[0], first[1], byte(at >> 8), byte(at)}), prefixBits)
		if s.free(prefix) {
			for address := prefix.Addr(); prefix.Contains(address); address = address.Next() {
				s.taken[address] = true
			}
			return prefix, true
		}
	}
	return netip.Prefix{}, false
}

func (s *subnet) free(prefix netip.Prefix) bool {
	for address := prefix.Addr(); prefix.Contains(address); address = address.Next() {
		if s.taken[address] {
			return false
		}
	}
	return true
}

func (s *subnet) releasePrefix(prefix netip.Prefix) {
	for address := prefix.Addr(); prefix.Contains(address); address = address.Next() {
		delete(s.taken, address)
	}
}
