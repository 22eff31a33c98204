package ec2

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/catalog/builtin"
)

// zone is an availability zone, or a Local Zone of the group.
type zone struct{ Name, ID, group string }

// local reports whether it is a Local Zone.
func (z zone) local() bool { return z.group != "" }

// vpc is the account's only VPC, 10.0.0.0/16, with one subnet a zone and one security group.
type vpc struct {
	id, securityGroupID string
	zones               []zone
	subnets             []*subnet
	groups              []*securityGroup
	tags                map[string]string
	ways                ways
}

type subnet struct {
	id   string
	zone zone
	cidr netip.Prefix
	tags map[string]string
	// public says that instances get a public IPv4 address.
	public bool
	// outpost is the ARN of the Outpost of the subnet, or empty.
	outpost string
	// taken are the addresses of instances that are not terminated; last is where the search for a
	// free one begins.
	taken map[netip.Addr]bool
	last  netip.Addr
}

type securityGroup struct {
	id, name, description string
	tags                  map[string]string
}

// firstUsableAddress and reservedAddresses: AWS keeps the first four addresses of a subnet and the
// last one.
const firstUsableAddress, reservedAddresses = 4, 5

func newVPC(identity *identifiers, region string, localZones []string) *vpc {
	v := &vpc{id: identity.next("vpc"), tags: map[string]string{"Name": "default"}}
	group := &securityGroup{
		id: identity.next("sg"), name: "default", description: "default VPC security group", tags: map[string]string{},
	}
	v.securityGroupID = group.id
	v.groups = append(v.groups, group)
	var zones []zone
	for i, letter := range []string{"a", "b", "c"} {
		zones = append(zones, zone{Name: region + letter, ID: zoneIDPrefix(region) + "-az" + fmt.Sprint(i+1)})
	}
	for _, name := range localZones {
		group := name[:len(name)-1] // all but the letter
		id := zoneIDPrefix(region) + strings.TrimPrefix(group, region) + "-az1"
		zones = append(zones, zone{Name: name, ID: id, group: group})
	}
	for i, z := range zones {
		v.zones = append(v.zones, z)
		cidr := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(16 * i), 0}), 20)
		first := cidr.Addr()
		for range firstUsableAddress {
			first = first.Next()
		}
		v.subnets = append(v.subnets, &subnet{
			id: identity.next("subnet"), zone: z, cidr: cidr, tags: map[string]string{"Name": "nodes-" + z.Name},
			taken: map[netip.Addr]bool{}, last: first.Prev(),
		})
	}
	return v
}

// zoneIDPrefix shortens a region as zone ids do: us-east-1 to use1, ap-southeast-2 to apse2.
func zoneIDPrefix(region string) string {
	parts := strings.Split(region, "-")
	short := parts[0]
	for _, part := range parts[1:] {
		for _, word := range []string{"north", "south", "east", "west", "central"} {
			if rest, ok := strings.CutPrefix(part, word); ok {
				short += word[:1]
				part = rest
			}
		}
		short += part[:min(1, len(part))]
	}
	return short
}

func (v *vpc) subnet(id string) *subnet {
	for _, s := range v.subnets {
		if s.id == id {
			return s
		}
	}
	return nil
}

func (v *vpc) group(idOrName string) *securityGroup {
	for _, g := range v.groups {
		if g.id == idOrName || g.name == idOrName {
			return g
		}
	}
	return nil
}

// tagCluster marks subnets and security group as an installation of EKS with Karpenter's guide
// does.
func (v *vpc) tagCluster(cluster string) {
	tags := map[string]string{"kubernetes.io/cluster/" + cluster: "shared", "karpenter.sh/discovery": cluster}
	for _, s := range v.subnets {
		maps.Copy(s.tags, tags)
	}
	maps.Copy(v.group(v.securityGroupID).tags, tags)
}

// size counts the addresses that instances may have.
func (s *subnet) size() int { return 1<<(32-s.cidr.Bits()) - reservedAddresses }

func (s *subnet) available() int { return s.size() - len(s.taken) }

// take returns out a free address, the one after the latest first, so that an address is not soon
// used again.
func (s *subnet) take() (netip.Addr, bool) {
	if s.available() <= 0 {
		return netip.Addr{}, false
	}
	address := s.last
	for range s.size() {
		address = address.Next()
		if s.index(address) >= firstUsableAddress+s.size() {
			address = s.cidr.Addr()
			for range firstUsableAddress {
				address = address.Next()
			}
		}
		if !s.taken[address] {
			s.taken[address] = true
			s.last = address
			return address, true
		}
	}
	return netip.Addr{}, false
}

func (s *subnet) release(address netip.Addr) { delete(s.taken, address) }

// index is an address's place in the subnet.
func (s *subnet) index(address netip.Addr) int {
	a, first := address.As4(), s.cidr.Addr().As4()
	return int(binary.BigEndian.Uint32(a[:])) - int(binary.BigEndian.Uint32(first[:]))
}

// privateDNSName is the host name that a VPC in us-east-1 gives an address; other regions have
// their name in it.
func privateDNSName(address netip.Addr, region string) string {
	domain := region + ".compute.internal"
	if region == "us-east-1" {
		domain = "ec2.internal"
	}
	return "ip-" + strings.ReplaceAll(address.String(), ".", "-") + "." + domain
}

// inLocalZones returns the types with the Local Zones that offer them: not all families are there.
func inLocalZones(types []builtin.InstanceType, zones []string) []builtin.InstanceType {
	if len(zones) == 0 {
		return types
	}
	types = slices.Clone(types)
	for i := range types {
		family, _, _ := strings.Cut(types[i].Name, ".")
		if slices.Contains([]string{"c5", "m5", "r5", "t3"}, family) {
			types[i].Zones = slices.Concat(types[i].Zones, zones)
		}
	}
	return types
}
