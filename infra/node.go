package infra

import (
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// nodeRoles holds the roles of the nodes, which instance profiles pass to EC2.
type nodeRoles struct {
	linux awsiam.IRole
	// windows is nil unless the user asks for it. Windows nodes need another kind of access entry,
	// and a role can have one entry only.
	windows awsiam.IRole
}

func (n nodeRoles) arns() []*string {
	arns := []*string{n.linux.RoleArn()}
	if n.windows != nil {
		arns = append(arns, n.windows.RoleArn())
	}
	return arns
}

// newNodeRoles adds the roles, unless the user names an existing one. Its outputs are the role's
// name for spec.role of an EC2NodeClass, and the profile's for spec.instanceProfile.
func newNodeRoles(c *cluster) nodeRoles {
	scope := constructs.NewConstruct(c.scope, jsii.String("Node"))
	if existing := c.configuration.nodeRole; existing != "" {
		return nodeRoles{
			linux: awsiam.Role_FromRoleArn(
				scope, jsii.String("Existing"), &existing, &awsiam.FromRoleArnOptions{Mutable: jsii.Bool(false)},
			),
		}
	}
	made := nodeRoles{linux: newNodeRole(c, scope, "Linux")}
	if c.configuration.windowsNodes {
		made.windows = newNodeRole(c, constructs.NewConstruct(scope, jsii.String("Windows")), "Windows")
	}
	return made
}

func newNodeRole(c *cluster, scope constructs.Construct, system string) awsiam.Role {
	var policies []awsiam.IManagedPolicy
	var known []acknowledgment
	// These are the policies of an EKS node. The pull-only policy replaces the wider one for
	// registries.
	// https://docs.aws.amazon.com/eks/latest/userguide/create-node-role.html
	names := []string{"AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly"}
	if c.configuration.nodeCNI {
		names = append(names, "AmazonEKS_CNI_Policy")
	}
	if c.configuration.nodeSSM {
		names = append(names, "AmazonSSMManagedInstanceCore")
	}
	for _, name := range names {
		policies = append(policies, awsiam.ManagedPolicy_FromAwsManagedPolicyName(jsii.String(name)))
		known = append(
			known,
			acknowledgment{
				ID: "AwsSolutions-IAM4", Reason: managedPolicies,
				AppliesTo: []string{"Policy::arn:<AWS::Partition>:iam::aws:policy/" + name},
			},
		)
	}
	var statements []awsiam.PolicyStatement
	if c.configuration.nodeCNI {
		statements = append(statements, assignIPv6())
	}
	role := awsiam.NewRole(scope, jsii.String("Role"), &awsiam.RoleProps{
		InlinePolicies:  inline("node", statements),
		RoleName:        c.roleName("node-" + strings.ToLower(system)),
		Description:     jsii.String("Nodes of " + system + " that Whittle launches for the cluster " + c.name),
		AssumedBy:       awsiam.NewServicePrincipal(awscdk.Fn_Sub(jsii.String("ec2.${AWS::URLSuffix}"), nil), nil),
		ManagedPolicies: &policies,
	})
	acknowledge(role, append(known, knownWildcards(role, statements)...))
	profile := awsiam.NewInstanceProfile(scope, jsii.String("InstanceProfile"), &awsiam.InstanceProfileProps{Role: role})
	keepForNodes(role.Node().DefaultChild().(awscdk.CfnResource))
	keepForNodes(profile.Node().DefaultChild().(awscdk.CfnResource))
	awscdk.NewCfnOutput(scope, jsii.String("RoleName"), &awscdk.CfnOutputProps{
		Description: jsii.String("Cluster " + c.name + ": the role of nodes of " + system + ", for EC2NodeClass spec.role"),
		Value:       role.RoleName(),
	})
	awscdk.NewCfnOutput(scope, jsii.String("InstanceProfileName"), &awscdk.CfnOutputProps{
		Description: jsii.String("Cluster " + c.name + ": its instance profile, for EC2NodeClass spec.instanceProfile"),
		Value:       profile.InstanceProfileName(),
	})
	return role
}

// assignIPv6 allows the one call of the VPC CNI in an IPv6 cluster that AmazonEKS_CNI_Policy lacks. Without it
// nodes of such a cluster register and stay NotReady.
// https://docs.aws.amazon.com/eks/latest/userguide/cni-iam-role.html#cni-iam-role-create-ipv6-policy
func assignIPv6() awsiam.PolicyStatement {
	interfaces := []*string{arn("ec2:${AWS::Region}:${AWS::AccountId}:network-interface/*")}
	return allow("IPv6", jsii.Strings("ec2:AssignIpv6Addresses"), interfaces, nil)
}

// inline is a role's inline policy, or none.
func inline(name string, statements []awsiam.PolicyStatement) *map[string]awsiam.PolicyDocument {
	if len(statements) == 0 {
		return nil
	}
	return &map[string]awsiam.PolicyDocument{
		name: awsiam.NewPolicyDocument(&awsiam.PolicyDocumentProps{Statements: &statements}),
	}
}

// keepForNodes keeps a resource when the stack goes, unless its creation failed. Nodes outlive the
// stack. Without their role or their access entry, the cluster would lose them all at once.
func keepForNodes(r awscdk.CfnResource) {
	r.ApplyRemovalPolicy(awscdk.RemovalPolicy_RETAIN_ON_UPDATE_OR_DELETE, nil)
}
