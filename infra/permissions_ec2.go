package infra

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"
)

// These tags mark what belongs to a cluster. Karpenter writes and checks the same.
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

// ownResources matches resources with the cluster's tags.
func ownResources(c *cluster) conditions {
	return conditions{
		"StringEquals": {"aws:ResourceTag/" + clusterTag(c): "owned"},
		"StringLike":   {"aws:ResourceTag/" + nodePoolTag: "*"},
	}
}

// ownRequest matches requests that give the cluster's tags to what they create.
func ownRequest(c *cluster) conditions {
	return conditions{
		"StringEquals": {"aws:RequestTag/" + clusterTag(c): "owned", "aws:RequestTag/" + eksClusterNameTag: c.name},
		"StringLike":   {"aws:RequestTag/" + nodePoolTag: "*"},
	}
}

// launchInstances allows launches: from any subnet, image and security group, through the cluster's
// own launch templates, and only with the tags by which functions later find and terminate
// instances.
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html
func launchInstances(c *cluster) []awsiam.PolicyStatement {
	launch := jsii.Strings("ec2:CreateFleet", "ec2:RunInstances")
	created := ec2ARNs(
		"fleet/*", "instance/*", "volume/*", "network-interface/*", "launch-template/*", "spot-instances-request/*",
	)
	tagAtLaunch := ownRequest(c)
	tagAtLaunch["StringEquals"]["ec2:CreateAction"] = []string{"CreateFleet", "RunInstances", "CreateLaunchTemplate"}
	return []awsiam.PolicyStatement{
		allow(
			"LaunchOutOf", launch,
			ec2ARNs("image/*", "snapshot/*", "security-group/*", "subnet/*", "capacity-reservation/*", "placement-group/*"), nil,
		),
		allow("LaunchThrough", launch, ec2ARNs("launch-template/*"), ownResources(c)),
		allow(
			"LaunchTagged", jsii.Strings("ec2:CreateFleet", "ec2:RunInstances", "ec2:CreateLaunchTemplate"), created,
			ownRequest(c),
		),
		allow("TagAtLaunch", jsii.Strings("ec2:CreateTags"), created, tagAtLaunch),
		// The answer to a repeated launch may name its fleet only.
		describe("Fleets", "ec2:DescribeFleets"),
	}
}

// useVolumeKeys allows EC2 to encrypt the volumes of new instances with the user's keys, on behalf of
// the launch. A grant lets the instance use its volumes afterwards.
// https://docs.aws.amazon.com/ebs/latest/userguide/ebs-encryption-requirements.html
func useVolumeKeys(c *cluster) []awsiam.PolicyStatement {
	if len(c.configuration.volumeKeys) == 0 {
		return nil
	}
	keys := *jsii.Strings(c.configuration.volumeKeys...)
	byEC2 := map[string]any{"kms:ViaService": awscdk.Fn_Sub(jsii.String("ec2.${AWS::Region}.amazonaws.com"), nil)}
	use := jsii.Strings(
		"kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncryptFrom", "kms:ReEncryptTo",
	)
	return []awsiam.PolicyStatement{
		allow("VolumeKeys", use, keys, conditions{"StringEquals": byEC2}),
		allow("VolumeGrants", jsii.Strings("kms:CreateGrant"), keys, conditions{
			"StringEquals": byEC2, "Bool": {"kms:GrantIsForAWSResource": "true"},
		}),
	}
}

// endInstances allows terminating the cluster's own instances. It also allows tagging an adopted
// instance with its claim.
func endInstances(c *cluster) []awsiam.PolicyStatement {
	tag := ownResources(c)
	tag["StringEqualsIfExists"] = map[string]any{"aws:RequestTag/" + eksClusterNameTag: c.name}
	tag["ForAllValues:StringEquals"] = map[string]any{"aws:TagKeys": []string{eksClusterNameTag, nodeClaimTag, nameTag}}
	return []awsiam.PolicyStatement{
		allow("End", jsii.Strings("ec2:TerminateInstances"), ec2ARNs("instance/*"), ownResources(c)),
		allow("TagOwn", jsii.Strings("ec2:CreateTags"), ec2ARNs("instance/*"), tag),
	}
}

// rebootInstances allows rebooting the cluster's own instances, where that may repair a node.
func rebootInstances(c *cluster) []awsiam.PolicyStatement {
	if !c.configuration.rebootForRepair {
		return nil
	}
	return []awsiam.PolicyStatement{
		allow("Reboot", jsii.Strings("ec2:RebootInstances"), ec2ARNs("instance/*"), ownResources(c)),
	}
}

// ownProfiles matches instance profiles with the cluster's tags. The sources are tags of the
// resource, of the request, or both.
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

// endTemplatesAndProfiles allows deleting the launch templates and profiles of node classes.
func endTemplatesAndProfiles(c *cluster) []awsiam.PolicyStatement {
	profiles := []*string{arn("iam::${AWS::AccountId}:instance-profile/*")}
	return []awsiam.PolicyStatement{
		allow("EndTemplate", jsii.Strings("ec2:DeleteLaunchTemplate"), ec2ARNs("launch-template/*"), ownResources(c)),
		allow(
			"EndProfile", jsii.Strings("iam:RemoveRoleFromInstanceProfile", "iam:DeleteInstanceProfile"), profiles,
			ownProfiles(c, "aws:ResourceTag/"),
		),
		listInstanceProfiles(),
	}
}

// listInstanceProfiles allows the list of all profiles, because IAM limits it no further. Functions
// touch only profiles with the cluster's tags.
func listInstanceProfiles() awsiam.PolicyStatement {
	return allow("ListProfiles", jsii.Strings("iam:ListInstanceProfiles"), []*string{jsii.String("*")}, nil)
}

// useNodeRole allows passing the node roles, and no other, to EC2 in an instance profile with the
// cluster's tags.
func useNodeRole(c *cluster, nodes nodeRoles) []awsiam.PolicyStatement {
	profiles := []*string{arn("iam::${AWS::AccountId}:instance-profile/*")}
	return []awsiam.PolicyStatement{
		allow("PassNodeRole", jsii.Strings("iam:PassRole"), nodes.arns(), conditions{
			// EC2 has another name in the partition aws-cn.
			"StringEquals": {"iam:PassedToService": []string{"ec2.amazonaws.com", "ec2.amazonaws.com.cn"}},
		}),
		allow("CreateProfile", jsii.Strings("iam:CreateInstanceProfile"), profiles, ownProfiles(c, "aws:RequestTag/")),
		allow(
			"TagProfile", jsii.Strings("iam:TagInstanceProfile"), profiles,
			ownProfiles(c, "aws:ResourceTag/", "aws:RequestTag/"),
		),
		allow("UseProfile", jsii.Strings("iam:AddRoleToInstanceProfile"), profiles, ownProfiles(c, "aws:ResourceTag/")),
		readInstanceProfiles(),
	}
}

func readInstanceProfiles() awsiam.PolicyStatement {
	return allow(
		"ReadProfiles", jsii.Strings("iam:GetInstanceProfile"), []*string{arn("iam::${AWS::AccountId}:instance-profile/*")},
		nil,
	)
}
