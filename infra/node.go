package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// newNodeRole adds the role that the nodes run with and an instance profile for it, and outputs what an EC2NodeClass wants to know: the name for its
// role field, or the instance profile's for instanceProfile.
func newNodeRole(c *cluster) awsiam.Role {
	scope := constructs.NewConstruct(c.scope, jsii.String("Node"))
	var policies []awsiam.IManagedPolicy
	// What an EKS worker needs, with the pull-only policy in place of the wider one for container registries.
	// https://docs.aws.amazon.com/eks/latest/userguide/create-node-role.html
	for _, name := range []string{
		"AmazonEKSWorkerNodePolicy",
		"AmazonEKS_CNI_Policy",
		"AmazonEC2ContainerRegistryPullOnly",
		"AmazonSSMManagedInstanceCore",
	} {
		policies = append(policies, awsiam.ManagedPolicy_FromAwsManagedPolicyName(jsii.String(name)))
	}
	role := awsiam.NewRole(scope, jsii.String("Role"), &awsiam.RoleProps{
		Description:     jsii.String("Nodes that Whittle launches for the cluster " + c.name),
		AssumedBy:       awsiam.NewServicePrincipal(jsii.String("ec2.amazonaws.com"), nil),
		ManagedPolicies: &policies,
	})
	profile := awsiam.NewInstanceProfile(scope, jsii.String("InstanceProfile"), &awsiam.InstanceProfileProps{Role: role})
	awscdk.NewCfnOutput(scope, jsii.String("RoleName"), &awscdk.CfnOutputProps{
		Description: jsii.String("Cluster " + c.name + ": the nodes' role, for EC2NodeClass spec.role"),
		Value:       role.RoleName(),
	})
	awscdk.NewCfnOutput(scope, jsii.String("InstanceProfileName"), &awscdk.CfnOutputProps{
		Description: jsii.String("Cluster " + c.name + ": the nodes' instance profile, for EC2NodeClass spec.instanceProfile"),
		Value:       profile.InstanceProfileName(),
	})
	return role
}
