package account

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/whittle-dev/whittle/functions/console/check"
	"github.com/whittle-dev/whittle/shared/api"
)

// discoveryTag marks the subnets and groups of nodes, in Karpenter's guides and in Whittle's.
const discoveryTag = "karpenter.sh/discovery"

// discovered matches what has the discovery tag of the cluster.
func discovered(cluster string) []types.Filter {
	return []types.Filter{{Name: aws.String("tag:" + discoveryTag), Values: []string{cluster}}}
}

// subnets are those that the classes have found, or else those with the discovery tag.
func (r *Reader) subnets(ctx context.Context, cluster string, classes []api.EC2NodeClass) ([]check.Subnet, error) {
	input := &ec2.DescribeSubnetsInput{MaxResults: aws.Int32(1000)}
	for i := range classes {
		for _, subnet := range classes[i].Status.Subnets {
			input.SubnetIds = append(input.SubnetIds, subnet.ID)
		}
	}
	if len(input.SubnetIds) == 0 {
		input.Filters = discovered(cluster)
	} else {
		input.MaxResults = nil
	}
	var found []check.Subnet
	pages := ec2.NewDescribeSubnetsPaginator(r.ec2, input)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, subnet := range page.Subnets {
			found = append(found, check.Subnet{
				ID: aws.ToString(subnet.SubnetId), Zone: aws.ToString(subnet.AvailabilityZone),
				Free: int(aws.ToInt32(subnet.AvailableIpAddressCount)), Selected: len(input.SubnetIds) > 0,
			})
		}
	}
	return found, nil
}

// groups are the security groups that the classes have found, or else those with the discovery tag.
func (r *Reader) groups(ctx context.Context, cluster string, classes []api.EC2NodeClass) ([]string, error) {
	var found []string
	for i := range classes {
		for _, group := range classes[i].Status.SecurityGroups {
			found = append(found, group.ID)
		}
	}
	if len(found) > 0 {
		slices.Sort(found)
		return slices.Compact(found), nil
	}
	pages := ec2.NewDescribeSecurityGroupsPaginator(r.ec2, &ec2.DescribeSecurityGroupsInput{
		Filters: discovered(cluster), MaxResults: aws.Int32(1000),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, group := range page.SecurityGroups {
			found = append(found, aws.ToString(group.GroupId))
		}
	}
	slices.Sort(found)
	return found, nil
}

// way reads how the functions' subnets reach AWS's APIs. An error is also that a subnet does not exist.
func (r *Reader) way(ctx context.Context, subnets []string) (*check.Way, error) {
	described, err := r.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: subnets})
	if err != nil {
		return nil, err
	}
	var vpc string
	for _, subnet := range described.Subnets {
		vpc = aws.ToString(subnet.VpcId) // Lambda wants all subnets in one VPC
	}
	inVPC := []types.Filter{{Name: aws.String("vpc-id"), Values: []string{vpc}}}
	tables, err := r.routeTables(ctx, inVPC)
	if err != nil {
		return nil, err
	}
	way := &check.Way{}
	for _, subnet := range subnets {
		if table := tableOf(tables, subnet); table == nil || !hasNAT(table) {
			way.WithoutNAT = append(way.WithoutNAT, subnet)
		}
	}
	pages := ec2.NewDescribeVpcEndpointsPaginator(
		r.ec2, &ec2.DescribeVpcEndpointsInput{Filters: inVPC, MaxResults: aws.Int32(1000)},
	)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, endpoint := range page.VpcEndpoints {
			name := aws.ToString(endpoint.ServiceName)
			way.Endpoints = append(way.Endpoints, name[strings.LastIndexByte(name, '.')+1:])
		}
	}
	return way, nil
}

func (r *Reader) routeTables(ctx context.Context, filters []types.Filter) ([]types.RouteTable, error) {
	var found []types.RouteTable
	pages := ec2.NewDescribeRouteTablesPaginator(
		r.ec2, &ec2.DescribeRouteTablesInput{Filters: filters, MaxResults: aws.Int32(100)}, // EC2's maximum
	)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		found = append(found, page.RouteTables...)
	}
	return found, nil
}

// tableOf is the route table of a subnet: its own, or the VPC's main one.
func tableOf(tables []types.RouteTable, subnet string) *types.RouteTable {
	var main *types.RouteTable
	for i := range tables {
		for _, association := range tables[i].Associations {
			switch {
			case aws.ToString(association.SubnetId) == subnet:
				return &tables[i]
			case aws.ToBool(association.Main):
				main = &tables[i]
			}
		}
	}
	return main
}

// hasNAT reports whether the table sends what leaves the VPC to a NAT gateway, or past the VPC. An
// internet gateway does not serve functions, which have no public addresses.
func hasNAT(table *types.RouteTable) bool {
	return slices.ContainsFunc(table.Routes, func(route types.Route) bool {
		return aws.ToString(route.DestinationCidrBlock) == "0.0.0.0/0" &&
			(route.NatGatewayId != nil || route.TransitGatewayId != nil || route.InstanceId != nil)
	})
}
