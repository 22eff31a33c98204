package infra

import (
	"strconv"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// newNetwork adds rules to the cluster's security group, if the user names it. The rules let the
// functions' security groups reach the API server.
func newNetwork(c *cluster) []constructs.IDependable {
	if c.configuration.clusterSecurityGroup == "" {
		return nil
	}
	scope := constructs.NewConstruct(c.scope, jsii.String("Network"))
	var rules []constructs.IDependable
	for i, group := range c.configuration.securityGroups {
		id := jsii.String("ApiServer" + strconv.Itoa(i))
		rules = append(rules, awsec2.NewCfnSecurityGroupIngress(scope, id, &awsec2.CfnSecurityGroupIngressProps{
			GroupId:               jsii.String(c.configuration.clusterSecurityGroup),
			SourceSecurityGroupId: jsii.String(group),
			IpProtocol:            jsii.String("tcp"),
			FromPort:              jsii.Number(443),
			ToPort:                jsii.Number(443),
			Description:           jsii.String("Functions of Whittle reach the API server of " + c.name),
		}))
	}
	return rules
}

// joinNetwork allows the calls by which Lambda places a function in a VPC, and denies them to the
// function's own code. Lambda requires the right to delete any interface.
// https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html#configuration-vpc-permissions
func joinNetwork(c *cluster, function string) []awsiam.PolicyStatement {
	interfaces := jsii.Strings(
		"ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface", "ec2:AssignPrivateIpAddresses",
		"ec2:UnassignPrivateIpAddresses",
	)
	all := []*string{arn("ec2:${AWS::Region}:${AWS::AccountId}:*/*")}
	// Another account may share its subnets and security groups.
	// https://docs.aws.amazon.com/vpc/latest/userguide/vpc-sharing.html
	all = append(all, ec2ARNs("subnet/*", "security-group/*")...)
	return []awsiam.PolicyStatement{
		allow("Network", interfaces, all, nil),
		describeNetwork(),
		awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
			Sid: jsii.String("NetworkNotByCode"), Effect: awsiam.Effect_DENY, Actions: interfaces, Resources: &all,
			Conditions: &map[string]any{"ArnEquals": map[string]any{
				"lambda:SourceFunctionArn": arn("lambda:${AWS::Region}:${AWS::AccountId}:function:" + *c.physicalName(function)),
			}},
		}),
	}
}
