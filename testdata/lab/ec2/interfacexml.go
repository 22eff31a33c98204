package ec2

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
)

// describeInterface describes one of the instance's interfaces by its place in the list.
func (s *Service) describeInterface(i *instance, at int) interfaceXML {
	n, addresses := i.interfaces[at], i.grant.addresses[at]
	id := derivedID("eni", i.ID+fmt.Sprint(at))
	sum := sha256.Sum256([]byte(id))
	x := interfaceXML{
		NetworkInterfaceID: id, SubnetID: i.SubnetID, VpcID: s.vpc.id, OwnerID: s.config.AccountID, Status: "in-use",
		SourceDestCheck: true,
		// The second hexadecimal digit marks a locally administered address.
		MacAddress: fmt.Sprintf("0a:%02x:%02x:%02x:%02x:%02x", sum[0], sum[1], sum[2], sum[3], sum[4]), InterfaceType: n.kind,
		Attachment: interfaceAttachmentXML{
			derivedID("eni-attach", id), timestamp(i.Launched), n.device, n.card, "attached", true,
		},
		Tracking: n.tracking,
	}
	for _, group := range n.groups {
		x.Groups.Items = append(x.Groups.Items, groupXML{group, s.groupName(group)})
	}
	if n.public {
		public := publicAddress(i)
		x.Association = &associationXML{public, "", "amazon"}
	}
	for place, address := range addresses {
		described := addressXML{
			PrivateIPAddress: address.String(), PrivateDNSName: privateDNSName(address, s.config.Region), Primary: place == 0,
		}
		if place == 0 {
			x.PrivateIPAddress, x.PrivateDNSName, described.Association = described.PrivateIPAddress, described.PrivateDNSName,
				x.Association
		}
		x.Addresses.Items = append(x.Addresses.Items, described)
	}
	if prefixes := i.grant.prefixes[at]; len(prefixes) > 0 {
		x.Prefixes = &set[prefixXML]{}
		for _, prefix := range prefixes {
			x.Prefixes.Items = append(x.Prefixes.Items, prefixXML{prefix.String()})
		}
	}
	return x
}

// publicAddress is one of those that are kept for documentation (RFC 5737), so that nothing can be
// reached at it.
func publicAddress(i *instance) string {
	sum := sha256.Sum256([]byte(i.ID))
	return netip.AddrFrom4([4]byte{203, 0, 113, sum[0]}).String()
}

// describePlacement describes an instance's zone, group and tenancy.
func describePlacement(i *instance) placementXML {
	x := placementXML{AvailabilityZone: i.Zone, AvailabilityZoneID: i.ZoneID, Tenancy: "default"}
	if i.data.Placement != nil {
		setText(&x.Tenancy, i.data.Placement.Tenancy)
	}
	if group := i.grant.group; group != nil {
		x.GroupName, x.GroupID, x.PartitionNumber = group.name, group.id, i.grant.partition
	}
	return x
}
