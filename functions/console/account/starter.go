package account

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/whittle-dev/whittle/functions/console/starter"
)

// Starter reads what the first objects of a cluster name. stack is the cluster's, whose outputs have the
// role of nodes, unless the role is given.
func (r *Reader) Starter(ctx context.Context, cluster, stack, role string) (*starter.Facts, error) {
	described, err := r.eks.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: &cluster})
	if err != nil {
		return nil, fmt.Errorf("describing the cluster %q: %w", cluster, err)
	}
	facts := &starter.Facts{Cluster: cluster, Role: role}
	if facts.Role == "" {
		if facts.Role, err = r.roleOfStack(ctx, stack); err != nil {
			return nil, err
		}
	}
	subnets, err := r.subnets(ctx, cluster, nil)
	if err != nil {
		return nil, fmt.Errorf("listing the subnets with the tag %s=%s: %w", discoveryTag, cluster, err)
	}
	groups, err := r.groups(ctx, cluster, nil)
	if err != nil {
		return nil, fmt.Errorf("listing the security groups with the tag %s=%s: %w", discoveryTag, cluster, err)
	}
	if facts.Tagged = len(subnets) > 0 && len(groups) > 0; facts.Tagged {
		for _, subnet := range subnets {
			facts.Zones = append(facts.Zones, subnet.Zone)
		}
	} else if vpc := described.Cluster.ResourcesVpcConfig; vpc != nil && len(vpc.SubnetIds) > 0 {
		facts.Subnets, facts.Groups = vpc.SubnetIds, []string{aws.ToString(vpc.ClusterSecurityGroupId)}
		if facts.Zones, err = r.zonesOf(ctx, vpc.SubnetIds); err != nil {
			return nil, err
		}
	}
	facts.ImageParameter = fmt.Sprintf("/aws/service/eks/optimized-ami/%s/amazon-linux-2023/x86_64/standard/recommended/"+
		"release_version", aws.ToString(described.Cluster.Version))
	facts.Image = r.newestImage(ctx, facts.ImageParameter)
	return facts, nil
}

// roleOfStack is the stack's output of the nodes' role; empty without a stack or an output.
func (r *Reader) roleOfStack(ctx context.Context, stack string) (string, error) {
	out, err := cloudformation.NewFromConfig(r.config).DescribeStacks(ctx, &cloudformation.DescribeStacksInput{
		StackName: &stack,
	})
	if err != nil {
		if strings.Contains(err.Error(), "does not exist") {
			return "", nil
		}
		return "", fmt.Errorf("reading the stack %s for the role of nodes: %w; or pass -node-role NAME", stack, err)
	}
	for _, output := range out.Stacks[0].Outputs {
		if strings.Contains(aws.ToString(output.OutputKey), "NodeRoleName") &&
			!strings.Contains(aws.ToString(output.OutputKey), "Windows") {
			return aws.ToString(output.OutputValue), nil
		}
	}
	return "", nil
}

func (r *Reader) zonesOf(ctx context.Context, subnets []string) ([]string, error) {
	out, err := r.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: subnets})
	if err != nil {
		return nil, fmt.Errorf("describing the cluster's subnets: %w", err)
	}
	var zones []string
	for _, subnet := range out.Subnets {
		zones = append(zones, aws.ToString(subnet.AvailabilityZone))
	}
	slices.Sort(zones)
	return slices.Compact(zones), nil
}

// newestImage is the alias of the newest image's version; empty where AWS does not name it. The parameter has
// 1.36.1-20261120.
func (r *Reader) newestImage(ctx context.Context, parameter string) string {
	out, err := ssm.NewFromConfig(r.config).GetParameter(ctx, &ssm.GetParameterInput{Name: &parameter})
	if err != nil {
		return "" // the manifest says what that means
	}
	_, version, found := strings.Cut(aws.ToString(out.Parameter.Value), "-")
	if !found || len(version) != len("20060102") || strings.Trim(version, "0123456789") != "" {
		return ""
	}
	return "al2023@v" + version
}
