package main

import (
	"strconv"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// newNetwork lets the functions' security groups reach the API server through the cluster's own, where that is asked for.
func newNetwork(c *cluster) []constructs.IDependable {
	if c.configuration.clusterSecurityGroup == "" {
		return nil
	}
	scope := constructs.NewConstruct(c.scope, jsii.String("Network"))
	var rules []constructs.IDependable
	for i, group := range c.configuration.securityGroups {
		rules = append(rules, awsec2.NewCfnSecurityGroupIngress(scope, jsii.String("ApiServer"+strconv.Itoa(i)), &awsec2.CfnSecurityGroupIngressProps{
			GroupId:               jsii.String(c.configuration.clusterSecurityGroup),
			SourceSecurityGroupId: jsii.String(group),
			IpProtocol:            jsii.String("tcp"),
			FromPort:              jsii.Number(443),
			ToPort:                jsii.Number(443),
			Description:           jsii.String("Whittle's functions reach the API server of " + c.name),
		}))
	}
	return rules
}

// joinNetwork gives what Lambda does with a function's role to place it in a VPC, and denies the same to the function's own
// code. Lambda wants the deletion allowed on every interface.
// https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html#configuration-vpc-permissions
func joinNetwork(c *cluster, function string) []awsiam.PolicyStatement {
	interfaces := jsii.Strings("ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface", "ec2:AssignPrivateIpAddresses", "ec2:UnassignPrivateIpAddresses")
	all := []*string{arn("ec2:${AWS::Region}:${AWS::AccountId}:*/*")}
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
