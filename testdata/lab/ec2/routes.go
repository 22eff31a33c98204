package ec2

import (
	"fmt"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// ways are how the VPC's subnets reach what is outside. The VPC has one route table, the main one.
type ways struct {
	nat       bool     // by a NAT gateway; else by an internet gateway, as in a default VPC
	endpoints []string // services with an interface endpoint
}

// SetWays sends what leaves the subnets to a NAT gateway, or to an internet gateway, and gives the VPC
// interface endpoints of services, such as sqs.
func (s *Service) SetWays(nat bool, endpoints ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.vpc.ways = ways{nat, endpoints}
}

func (s *Service) describeRouteTables(_ *wire.Call, in *describeRouteTablesRequest) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := derivedID("rtb", s.vpc.id)
	beyond := routeXML{DestinationCidrBlock: "0.0.0.0/0", State: "active", Origin: "CreateRoute"}
	if s.vpc.ways.nat {
		beyond.NatGatewayID = derivedID("nat", s.vpc.id)
	} else {
		beyond.GatewayID = derivedID("igw", s.vpc.id)
	}
	within := routeXML{DestinationCidrBlock: vpcCIDR, GatewayID: "local", State: "active", Origin: "CreateRouteTable"}
	main := routeTableXML{
		RouteTableID: id, VpcID: s.vpc.id, OwnerID: s.config.AccountID, Routes: setOf([]routeXML{within, beyond}),
		Associations: setOf([]routeAssociationXML{
			{Main: true, RouteTableAssociationID: derivedID("rtbassoc", s.vpc.id), RouteTableID: id},
		}),
	}
	tables, err := pick([]routeTableXML{main}, in.RouteTableIDs, func(t routeTableXML) string {
		return t.RouteTableID
	}, "InvalidRouteTableID.NotFound", "routeTable ID")
	if err != nil {
		return nil, err
	}
	tables, err = matching(tables, in.Filters, fields[routeTableXML]{
		"vpc-id": func(t routeTableXML) []string { return one(t.VpcID) },
	}, nil)
	if err != nil {
		return nil, err
	}
	return &describeRouteTablesResult{RouteTables: setOf(tables)}, nil
}

func (s *Service) describeVpcEndpoints(_ *wire.Call, in *describeVpcEndpointsRequest) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []vpcEndpointXML
	for _, service := range s.vpc.ways.endpoints {
		all = append(all, vpcEndpointXML{
			VpcEndpointID: derivedID("vpce", service), VpcEndpointType: "Interface", VpcID: s.vpc.id, State: "available",
			ServiceName: fmt.Sprintf("com.amazonaws.%s.%s", s.config.Region, service), OwnerID: s.config.AccountID,
		})
	}
	endpoints, err := pick(all, in.VpcEndpointIDs, func(e vpcEndpointXML) string {
		return e.VpcEndpointID
	}, "InvalidVpcEndpointId.NotFound", "Vpc Endpoint Id")
	if err != nil {
		return nil, err
	}
	endpoints, err = matching(endpoints, in.Filters, fields[vpcEndpointXML]{
		"vpc-id": func(e vpcEndpointXML) []string { return one(e.VpcID) },
	}, nil)
	if err != nil {
		return nil, err
	}
	return &describeVpcEndpointsResult{VpcEndpoints: setOf(endpoints)}, nil
}
