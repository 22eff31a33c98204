package ec2

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// tagSet returns tags sorted by key.
func tagSet(tags map[string]string) set[tagXML] {
	var x set[tagXML]
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		x.Items = append(x.Items, tagXML{key, tags[key]})
	}
	return x
}

// pick returns the named resources, or all where none is named; a name that is unknown is an error
// with the code.
func pick[T any](all []T, names []string, nameOf func(T) string, code, kind string) ([]T, error) {
	if len(names) == 0 {
		return all, nil
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(resource T) bool { return nameOf(resource) == name }) {
			return nil, refuse(code, "The %s '%s' does not exist", kind, name)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(resource T) bool {
		return !slices.Contains(names, nameOf(resource))
	}), nil
}

// manyResults are the page bounds of most actions, which give everything where no MaxResults is
// named.
var manyResults = pageBounds{Least: 5, Most: 1000}

func (s *Service) describeAvailabilityZones(_ *wire.Call, in *describeAvailabilityZonesRequest) (any, error) {
	region := s.config.Region
	zones, err := pick(s.vpc.zones, in.ZoneNames, func(z zone) string {
		return z.Name
	}, codeInvalidParameterValue, "availability zone")
	if err != nil {
		return nil, err
	}
	if zones, err = pick(zones, in.ZoneIDs, func(z zone) string {
		return z.ID
	}, codeInvalidParameterValue, "availability zone id"); err != nil {
		return nil, err
	}
	zones, err = matching(zones, in.Filters, fields[zone]{
		"group-name": func(z zone) []string { return one(s.groupOf(z)) },
		"state":      func(zone) []string { return one("available") },
	}, nil)
	if err != nil {
		return nil, err
	}
	out := &describeAvailabilityZonesResult{}
	for _, z := range zones {
		out.Zones.Items = append(out.Zones.Items, zoneXML{
			OptInStatus: z.optIn(), RegionName: region, ZoneName: z.Name, ZoneID: z.ID, GroupName: s.groupOf(z),
			NetworkBorderGroup: cmp.Or(z.group, region), ZoneType: z.kind(), State: "available",
		})
	}
	return out, nil
}

func (s *Service) groupOf(z zone) string { return cmp.Or(z.group, s.config.Region+"-zg-1") }

func (z zone) optIn() string {
	if z.local() {
		return "opted-in"
	}
	return "opt-in-not-required"
}

func (z zone) kind() string {
	if z.local() {
		return "local-zone"
	}
	return "availability-zone"
}

const vpcCIDR = "10.0.0.0/16"

func (s *Service) describeVpcs(_ *wire.Call, in *describeVpcsRequest) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	vpcs, err := pick([]*vpc{s.vpc}, in.VpcIDs, func(v *vpc) string { return v.id }, "InvalidVpcID.NotFound", "vpc ID")
	if err != nil {
		return nil, err
	}
	vpcs, err = matching(vpcs, in.Filters, fields[*vpc]{
		"cidr":       func(*vpc) []string { return one(vpcCIDR) },
		"is-default": func(*vpc) []string { return yesNo(true) },
		"owner-id":   func(*vpc) []string { return one(s.config.AccountID) },
		"state":      func(*vpc) []string { return one("available") },
		"vpc-id":     func(v *vpc) []string { return one(v.id) },
	}, func(v *vpc) map[string]string { return v.tags })
	if err != nil {
		return nil, err
	}
	page, next, err := paginate(vpcs, in.MaxResults, in.NextToken, manyResults)
	if err != nil {
		return nil, err
	}
	out := &describeVpcsResult{NextToken: next}
	for _, v := range page {
		x := vpcXML{
			OwnerID: s.config.AccountID, InstanceTenancy: "default", IsDefault: true, Tags: tagSet(v.tags), VpcID: v.id,
			State: "available", CidrBlock: vpcCIDR,
			DHCPOptionsID: derivedID("dopt", v.id),
		}
		association := vpcCIDRXML{AssociationID: derivedID("vpc-cidr-assoc", v.id), CidrBlock: vpcCIDR}
		association.State.State = "associated"
		x.Associations.Items = append(x.Associations.Items, association)
		out.Vpcs.Items = append(out.Vpcs.Items, x)
	}
	return out, nil
}

func (s *Service) describeSubnets(_ *wire.Call, in *describeSubnetsRequest) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	subnets, err := pick(s.vpc.subnets, in.SubnetIDs, func(n *subnet) string {
		return n.id
	}, "InvalidSubnetID.NotFound", "subnet ID")
	if err != nil {
		return nil, err
	}
	available := func(n *subnet) []string { return one(strconv.Itoa(n.available())) }
	zoneName := func(n *subnet) []string { return one(n.zone.Name) }
	zoneID := func(n *subnet) []string { return one(n.zone.ID) }
	subnets, err = matching(subnets, in.Filters, fields[*subnet]{
		"availability-zone": zoneName, "availabilityZone": zoneName,
		"availability-zone-id": zoneID, "availabilityZoneId": zoneID,
		"available-ip-address-count": available,
		"owner-id":                   func(*subnet) []string { return one(s.config.AccountID) },
		"state":                      func(*subnet) []string { return one("available") },
		"subnet-id":                  func(n *subnet) []string { return one(n.id) },
		"vpc-id":                     func(*subnet) []string { return one(s.vpc.id) },
	}, func(n *subnet) map[string]string { return n.tags })
	if err != nil {
		return nil, err
	}
	page, next, err := paginate(subnets, in.MaxResults, in.NextToken, manyResults)
	if err != nil {
		return nil, err
	}
	out := &describeSubnetsResult{NextToken: next}
	for _, n := range page {
		out.Subnets.Items = append(out.Subnets.Items, subnetXML{
			AvailabilityZoneID: n.zone.ID, OwnerID: s.config.AccountID, Tags: tagSet(n.tags), SubnetARN: s.arn("subnet", n.id),
			SubnetID: n.id,
			State:    "available", VpcID: s.vpc.id, CidrBlock: n.cidr.String(), AvailableIPAddressCount: n.available(),
			AvailabilityZone: n.zone.Name,
			DefaultForAz:     true, MapPublicIPOnLaunch: n.public, HostNames: hostNamesXML{HostnameType: "ip-name"},
			OutpostARN: n.outpost,
		})
	}
	return out, nil
}

// everywhere is the rule that EC2 gives a new group for traffic that leaves it.
func everywhere() set[rangePermissionXML] {
	return setOf([]rangePermissionXML{{"-1", setOf([]rangeXML{{"0.0.0.0/0"}})}})
}

func (s *Service) describeSecurityGroups(_ *wire.Call, in *describeSecurityGroupsRequest) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	groups, err := pick(s.vpc.groups, in.GroupIDs, func(g *securityGroup) string {
		return g.id
	}, "InvalidGroup.NotFound", "security group")
	if err != nil {
		return nil, err
	}
	if groups, err = pick(groups, in.GroupNames, func(g *securityGroup) string {
		return g.name
	}, "InvalidGroup.NotFound", "security group"); err != nil {
		return nil, err
	}
	groups, err = matching(groups, in.Filters, fields[*securityGroup]{
		"description": func(g *securityGroup) []string { return one(g.description) },
		"group-id":    func(g *securityGroup) []string { return one(g.id) },
		"group-name":  func(g *securityGroup) []string { return one(g.name) },
		"owner-id":    func(*securityGroup) []string { return one(s.config.AccountID) },
		"vpc-id":      func(*securityGroup) []string { return one(s.vpc.id) },
	}, func(g *securityGroup) map[string]string { return g.tags })
	if err != nil {
		return nil, err
	}
	page, next, err := paginate(groups, in.MaxResults, in.NextToken, manyResults)
	if err != nil {
		return nil, err
	}
	out := &describeSecurityGroupsResult{NextToken: next}
	for _, g := range page {
		out.Groups.Items = append(out.Groups.Items, securityGroupXML{
			g.id, tagSet(g.tags), s.vpc.id, s.arn("security-group", g.id), s.config.AccountID, g.name, g.description,
			everywhere(),
		})
	}
	return out, nil
}

// arn names a resource of this account, such as arn:aws:ec2:us-east-1:123456789012:instance/i-....
func (s *Service) arn(kind, id string) string {
	return fmt.Sprintf("arn:aws:ec2:%s:%s:%s/%s", s.config.Region, s.config.AccountID, kind,
		strings.TrimPrefix(id, kind+"/"))
}
