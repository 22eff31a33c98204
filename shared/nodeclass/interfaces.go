package nodeclass

import (
	"github.com/whittle-dev/whittle/shared/api"
)

// NetworkInterface is a network interface of a launch template. It has the template's security
// groups.
type NetworkInterface struct {
	NetworkCard int    `json:"networkCard"`
	Device      int    `json:"device"`
	Type        string `json:"type"` // EC2's name: interface, efa or efa-only
	// PublicAddress is nil where the subnet decides.
	PublicAddress      *bool                   `json:"publicAddress,omitempty"`
	IPv4Prefixes       *int32                  `json:"ipv4Prefixes,omitempty"`
	IPv6Prefixes       *int32                  `json:"ipv6Prefixes,omitempty"`
	PrimaryIPv6        bool                    `json:"primaryIPv6,omitempty"` // with one address
	ConnectionTracking *api.ConnectionTracking `json:"connectionTracking,omitempty"`
}

// EC2's names of what an interface carries.
const (
	interfaceTypeEFA     = "efa"
	interfaceTypeEFAOnly = string(api.InterfaceTypeEFAOnly)
)

// networkInterfaces returns the interfaces that a template must name. It returns none where EC2's
// default interface is enough. The argument efa is the number of network cards with an EFA
// interface.
func networkInterfaces(class *api.EC2NodeClass, ipv6 bool, efa int) []NetworkInterface {
	spec := &class.Spec
	var list []NetworkInterface
	switch {
	case len(spec.NetworkInterfaces) > 0:
		for _, given := range spec.NetworkInterfaces {
			list = append(
				list,
				NetworkInterface{
					NetworkCard: int(given.NetworkCardIndex), Device: int(given.DeviceIndex),
					Type: string(given.InterfaceType),
				},
			)
		}
	case efa > 0:
		for card := range efa {
			// EC2 allows device 0 only on the first card.
			// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html
			list = append(list, NetworkInterface{NetworkCard: card, Device: min(card, 1), Type: interfaceTypeEFA})
		}
	case spec.AssociatePublicIPAddress != nil || spec.IPPrefixCount != nil || spec.ConnectionTracking != nil || ipv6:
		list = []NetworkInterface{{Type: string(api.InterfaceTypeInterface)}}
	}
	for i := range list {
		made := &list[i]
		if made.Type == interfaceTypeEFAOnly {
			continue // it has no addresses
		}
		made.ConnectionTracking = spec.ConnectionTracking
		if made.NetworkCard > 0 || made.Device > 0 {
			continue // the instance's addresses are those of its first interface
		}
		// EC2 gives no public address to an instance with several interfaces.
		if len(list) == 1 {
			made.PublicAddress = spec.AssociatePublicIPAddress
		}
		made.PrimaryIPv6 = ipv6
		if ipv6 {
			made.IPv6Prefixes = spec.IPPrefixCount
		} else {
			made.IPv4Prefixes = spec.IPPrefixCount
		}
	}
	return list
}
