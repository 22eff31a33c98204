package check

import (
	"fmt"
	"slices"
	"strings"
)

// fewAddresses is the number of free addresses below which a subnet is worth a warning: a large node
// takes that many for its pods.
const fewAddresses = 64

func nodeSubnets(f *Facts) []Finding {
	const subject = "subnets"
	tag := fmt.Sprintf("tag the nodes' subnets karpenter.sh/discovery=%s, or write an EC2NodeClass that selects them",
		f.ClusterName)
	switch {
	case f.Subnets.Err != nil:
		return unread(subject, "ec2:DescribeSubnets", f.Subnets.Err)
	case len(f.Subnets.Value) == 0:
		return line(subject, Problem, tag, "no EC2NodeClass selects any, and none has the discovery tag")
	}
	var zones, short []string
	free := 0
	for _, subnet := range f.Subnets.Value {
		if !slices.Contains(zones, subnet.Zone) {
			zones = append(zones, subnet.Zone)
		}
		free += subnet.Free
		if subnet.Free < fewAddresses {
			short = append(short, fmt.Sprintf("%s has %d", subnet.ID, subnet.Free))
		}
	}
	slices.Sort(zones)
	switch {
	case len(short) > 0:
		return line(subject, Warning, "add larger subnets, or let the CNI use prefixes", "few free addresses: %s",
			strings.Join(short, ", "))
	case len(zones) == 1:
		return line(subject, Warning, "add subnets in other zones: spot capacity differs by zone", "all are in %s", zones[0])
	}
	return ok(subject, "%d in %s, %d free addresses", len(f.Subnets.Value), strings.Join(zones, ", "), free)
}

func nodeGroups(f *Facts) []Finding {
	const subject = "security groups"
	switch {
	case f.Groups.Err != nil:
		return unread(subject, "ec2:DescribeSecurityGroups", f.Groups.Err)
	case len(f.Groups.Value) == 0:
		return line(subject, Problem, fmt.Sprintf("tag the nodes' groups karpenter.sh/discovery=%s, or write an "+
			"EC2NodeClass that selects them", f.ClusterName), "no EC2NodeClass selects any, and none has the discovery tag")
	}
	return ok(subject, "%s", strings.Join(f.Groups.Value, ", "))
}

// nodePolicies are the managed policies without which a node does not join.
// https://docs.aws.amazon.com/eks/latest/userguide/create-node-role.html
func nodePolicies() []string { return []string{"AmazonEKSWorkerNodePolicy"} }

func nodeRole(f *Facts) []Finding {
	const subject = "node role"
	role := f.NodeRole.Value
	missing := slices.DeleteFunc(nodePolicies(), func(name string) bool { return slices.Contains(role.Policies, name) })
	switch {
	case f.Options.NodeRole == "":
		return ok(subject, "the stack makes one")
	case f.NodeRole.Err != nil:
		return unread(subject, "iam:GetRole, iam:ListAttachedRolePolicies and eks:DescribeAccessEntry", f.NodeRole.Err)
	case !role.Exists:
		return line(subject, Problem, "correct the setting nodeRole", "there is no role %s", f.Options.NodeRole)
	case !role.TrustsEC2:
		return line(subject, Problem, "allow sts:AssumeRole to ec2.amazonaws.com in its trust policy",
			"EC2 may not assume %s", f.Options.NodeRole)
	case len(missing) > 0:
		return line(subject, Warning, "attach it, or the same rights by another policy", "%s is not attached",
			strings.Join(missing, ", "))
	case !role.HasEntry && f.AuthenticationMode != "CONFIG_MAP":
		return line(subject, Problem, "run aws eks create-access-entry with --type EC2_LINUX for it",
			"the cluster has no access entry for %s: its nodes would not join", f.Options.NodeRole)
	}
	return ok(subject, "%s", f.Options.NodeRole)
}

func spotRole(f *Facts) []Finding {
	const subject = "spot's role"
	switch {
	case f.SpotRole.Err != nil:
		return unread(subject, "iam:GetRole", f.SpotRole.Err)
	case !f.SpotRole.Value:
		return line(subject, Problem, "run aws iam create-service-linked-role --aws-service-name spot.amazonaws.com",
			"the account has no AWSServiceRoleForEC2Spot, without which EC2 refuses spot instances")
	}
	return ok(subject, "AWSServiceRoleForEC2Spot")
}

// needed is how many invocations the functions run at a time: each of them, and a second one of those
// that several events wake.
const needed = 12

func concurrency(f *Facts) []Finding {
	const subject = "Lambda concurrency"
	switch {
	case f.Concurrency.Err != nil:
		return unread(subject, "lambda:GetAccountSettings", f.Concurrency.Err)
	case f.Concurrency.Value < needed:
		return line(subject, Warning, "raise quota L-B99A9384 of Lambda: other functions share it",
			"the account may run %d invocations at a time, and Whittle up to %d", f.Concurrency.Value, needed)
	}
	return ok(subject, "%d unreserved", f.Concurrency.Value)
}

// servicesNeeded are those that the functions call, by the names of their endpoints. The installation
// answers CloudFormation by S3.
func servicesNeeded(o *Options) []string {
	needed := []string{"ec2", "eks", "sqs", "ssm", "lambda", "s3"}
	if o.EventBus != "" {
		needed = append(needed, "events")
	}
	if o.ZonalShift {
		needed = append(needed, "arc-zonal-shift")
	}
	return needed
}

func functionNetwork(f *Facts) []Finding {
	const subject = "functions' subnets"
	way := f.Way.Value
	switch {
	case len(f.FunctionSubnets) == 0:
		return nil
	case f.Way.Err != nil:
		return unread(subject, "ec2:DescribeRouteTables and ec2:DescribeVpcEndpoints", f.Way.Err)
	case way == nil || len(way.WithoutNAT) == 0:
		return ok(subject, "they have a NAT gateway")
	}
	there := func(name string) bool { return slices.Contains(way.Endpoints, name) }
	missing := slices.DeleteFunc(servicesNeeded(&f.Options), there)
	if len(missing) > 0 {
		return line(subject, Problem, "add these endpoints, or a route to a NAT gateway. IAM and the price list need a NAT "+
			"gateway in most regions", "%s have no NAT gateway, and the VPC no endpoint for %s",
			strings.Join(way.WithoutNAT, ", "), strings.Join(missing, ", "))
	}
	return line(subject, Warning, "set spec.instanceProfile in the EC2NodeClasses: IAM has an endpoint in us-east-1 only",
		"they have no NAT gateway, but the endpoints that the functions need")
}
