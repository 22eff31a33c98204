package main

import (
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// nodeRoles are the roles that nodes run with: those that instance profiles may hand to EC2.
type nodeRoles struct {
	linux awsiam.IRole
	// windows is nil unless asked for: the cluster lets Windows in by another kind of access entry, and a role has one.
	windows awsiam.IRole
}

func (n nodeRoles) arns() []*string {
	arns := []*string{n.linux.RoleArn()}
	if n.windows != nil {
		arns = append(arns, n.windows.RoleArn())
	}
	return arns
}

// newNodeRoles adds the roles, unless an existing one is to be used, and outputs what an EC2NodeClass wants to know: a name for its
// role field, or the instance profile's for instanceProfile.
func newNodeRoles(c *cluster) nodeRoles {
	scope := constructs.NewConstruct(c.scope, jsii.String("Node"))
	if existing := c.configuration.nodeRole; existing != "" {
		return nodeRoles{linux: awsiam.Role_FromRoleArn(scope, jsii.String("Existing"), &existing, &awsiam.FromRoleArnOptions{Mutable: jsii.Bool(false)})}
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
	// What an EKS worker needs, with the pull-only policy in place of the wider one for container registries.
	// https://docs.aws.amazon.com/eks/latest/userguide/create-node-role.html
	for _, name := range []string{
		"AmazonEKSWorkerNodePolicy",
		"AmazonEKS_CNI_Policy",
		"AmazonEC2ContainerRegistryPullOnly",
		"AmazonSSMManagedInstanceCore",
	} {
		policies = append(policies, awsiam.ManagedPolicy_FromAwsManagedPolicyName(jsii.String(name)))
		known = append(known, acknowledgment{ID: "AwsSolutions-IAM4", Reason: managedPolicies, AppliesTo: []string{"Policy::arn:<AWS::Partition>:iam::aws:policy/" + name}})
	}
	role := awsiam.NewRole(scope, jsii.String("Role"), &awsiam.RoleProps{
		RoleName:        c.roleName("node-" + strings.ToLower(system)),
		Description:     jsii.String("Nodes of " + system + " that Whittle launches for the cluster " + c.name),
		AssumedBy:       awsiam.NewServicePrincipal(jsii.String("ec2.amazonaws.com"), nil),
		ManagedPolicies: &policies,
	})
	acknowledge(role, known)
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

// keepForNodes leaves a resource behind when the stack goes, but for one that was never deployed whole: nodes run on, and
// without their role, or the cluster's letting them in, they would all be lost at once.
func keepForNodes(r awscdk.CfnResource) {
	r.ApplyRemovalPolicy(awscdk.RemovalPolicy_RETAIN_ON_UPDATE_OR_DELETE, nil)
}
