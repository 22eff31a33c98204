package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"
)

// The tags that mark what belongs to a cluster, as Karpenter writes and checks them.
const (
	eksClusterNameTag = "eks:eks-cluster-name"
	nodePoolTag       = "karpenter.sh/nodepool"
	nodeClaimTag      = "karpenter.sh/nodeclaim"
	nodeClassTag      = "karpenter.k8s.aws/ec2nodeclass"
	regionTag         = "topology.kubernetes.io/region"
	nameTag           = "Name"
)

func clusterTag(c *cluster) string {
	return "kubernetes.io/cluster/" + c.name
}

// ownResources holds for what carries the cluster's tags already.
func ownResources(c *cluster) conditions {
	return conditions{
		"StringEquals": {"aws:ResourceTag/" + clusterTag(c): "owned"},
		"StringLike":   {"aws:ResourceTag/" + nodePoolTag: "*"},
	}
}

// ownRequest holds for a request that gives what it creates the cluster's tags.
func ownRequest(c *cluster) conditions {
	return conditions{
		"StringEquals": {"aws:RequestTag/" + clusterTag(c): "owned", "aws:RequestTag/" + eksClusterNameTag: c.name},
		"StringLike":   {"aws:RequestTag/" + nodePoolTag: "*"},
	}
}

// launchInstances lets instances be launched: out of what is there to be used, through the cluster's own launch templates,
// and only with the tags by which they will be found, and ended, again.
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html
func launchInstances(c *cluster) []awsiam.PolicyStatement {
	launch := jsii.Strings("ec2:CreateFleet", "ec2:RunInstances")
	created := ec2ARNs("fleet/*", "instance/*", "volume/*", "network-interface/*", "launch-template/*", "spot-instances-request/*")
	tagAtLaunch := ownRequest(c)
	tagAtLaunch["StringEquals"]["ec2:CreateAction"] = []string{"CreateFleet", "RunInstances", "CreateLaunchTemplate"}
	return []awsiam.PolicyStatement{
		allow("LaunchOutOf", launch, ec2ARNs("image/*", "snapshot/*", "security-group/*", "subnet/*", "capacity-reservation/*", "placement-group/*"), nil),
		allow("LaunchThrough", launch, ec2ARNs("launch-template/*"), ownResources(c)),
		allow("LaunchTagged", jsii.Strings("ec2:CreateFleet", "ec2:RunInstances", "ec2:CreateLaunchTemplate"), created, ownRequest(c)),
		allow("TagAtLaunch", jsii.Strings("ec2:CreateTags"), created, tagAtLaunch),
	}
}

// endInstances lets the cluster's own instances be terminated, and an instance that is taken over be given the tags that
// name its claim.
func endInstances(c *cluster) []awsiam.PolicyStatement {
	tag := ownResources(c)
	tag["StringEqualsIfExists"] = map[string]any{"aws:RequestTag/" + eksClusterNameTag: c.name}
	tag["ForAllValues:StringEquals"] = map[string]any{"aws:TagKeys": []string{eksClusterNameTag, nodeClaimTag, nameTag}}
	return []awsiam.PolicyStatement{
		allow("End", jsii.Strings("ec2:TerminateInstances"), ec2ARNs("instance/*"), ownResources(c)),
		allow("TagOwn", jsii.Strings("ec2:CreateTags"), ec2ARNs("instance/*"), tag),
	}
}

// ownProfiles holds for instance profiles that carry the cluster's tags, in each of the sources: what is there, or what is asked for.
func ownProfiles(c *cluster, sources ...string) conditions {
	equal, like := map[string]any{}, map[string]any{}
	for _, source := range sources {
		equal[source+clusterTag(c)] = "owned"
		equal[source+eksClusterNameTag] = c.name
		equal[source+regionTag] = awscdk.Aws_REGION()
		like[source+nodeClassTag] = "*"
	}
	return conditions{"StringEquals": equal, "StringLike": like}
}

// endTemplatesAndProfiles lets go of what was made for node classes, once nothing uses it.
func endTemplatesAndProfiles(c *cluster) []awsiam.PolicyStatement {
	profiles := []*string{arn("iam::${AWS::AccountId}:instance-profile/*")}
	return []awsiam.PolicyStatement{
		allow("EndTemplate", jsii.Strings("ec2:DeleteLaunchTemplate"), ec2ARNs("launch-template/*"), ownResources(c)),
		allow("EndProfile", jsii.Strings("iam:RemoveRoleFromInstanceProfile", "iam:DeleteInstanceProfile"), profiles, ownProfiles(c, "aws:ResourceTag/")),
		listInstanceProfiles(),
	}
}

// listInstanceProfiles bounds the list by where the functions put profiles, as far as IAM lets: what it names is not
// touched without the cluster's tags.
func listInstanceProfiles() awsiam.PolicyStatement {
	return allow("ListProfiles", jsii.Strings("iam:ListInstanceProfiles"), []*string{jsii.String("*")}, nil)
}

// useNodeRole lets EC2 be handed the node roles, and no other, in an instance profile that carries the cluster's tags.
func useNodeRole(c *cluster, nodes nodeRoles) []awsiam.PolicyStatement {
	profiles := []*string{arn("iam::${AWS::AccountId}:instance-profile/*")}
	return []awsiam.PolicyStatement{
		allow("PassNodeRole", jsii.Strings("iam:PassRole"), nodes.arns(), conditions{
			// EC2 has a name of its own in the partition aws-cn.
			"StringEquals": {"iam:PassedToService": []string{"ec2.amazonaws.com", "ec2.amazonaws.com.cn"}},
		}),
		allow("CreateProfile", jsii.Strings("iam:CreateInstanceProfile"), profiles, ownProfiles(c, "aws:RequestTag/")),
		allow("TagProfile", jsii.Strings("iam:TagInstanceProfile"), profiles, ownProfiles(c, "aws:ResourceTag/", "aws:RequestTag/")),
		allow("UseProfile", jsii.Strings("iam:AddRoleToInstanceProfile"), profiles, ownProfiles(c, "aws:ResourceTag/")),
		readInstanceProfiles(),
	}
}

func readInstanceProfiles() awsiam.PolicyStatement {
	return allow("ReadProfiles", jsii.Strings("iam:GetInstanceProfile"), []*string{arn("iam::${AWS::AccountId}:instance-profile/*")}, nil)
}
