package main

import (
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"
)

// conditions of a statement: operator, then key, then value or values.
type conditions map[string]map[string]any

// allow makes a statement that allows actions on resources where the conditions hold.
func allow(sid string, actions *[]*string, resources []*string, when conditions) awsiam.PolicyStatement {
	p := &awsiam.PolicyStatementProps{Sid: jsii.String(sid), Actions: actions, Resources: &resources}
	if len(when) > 0 {
		given := map[string]any{}
		for operator, keys := range when {
			given[operator] = keys
		}
		p.Conditions = &given
	}
	return awsiam.NewPolicyStatement(p)
}

// arn makes an ARN of what follows the partition, in which ${AWS::Region} and ${AWS::AccountId} stand for the stack's own.
// Without either it is plain text but for the partition.
func arn(rest string) *string {
	return awscdk.Fn_Sub(jsii.String("arn:${AWS::Partition}:"+rest), nil)
}

func tickerStatements(q queues) []awsiam.PolicyStatement {
	return []awsiam.PolicyStatement{sendMessages(q.provision, q.lifecycle, q.disrupt)}
}

func provisionStatements(c *cluster, q queues, nodes nodeRoles) []awsiam.PolicyStatement {
	statements := []awsiam.PolicyStatement{
		describeCluster(c),
		describeRegion(append(classSelections(), "Instances")...),
		readParameters(c),
		sendMessages(q.provision, q.lifecycle),
	}
	if c.configuration.dryRun {
		return append(statements, readInstanceProfiles())
	}
	statements = append(statements, launchInstances(c)...)
	return append(statements, useNodeRole(c, nodes)...)
}

func interruptStatements(c *cluster, q queues) []awsiam.PolicyStatement {
	return []awsiam.PolicyStatement{describeCluster(c), sendMessages(q.provision, q.lifecycle)}
}

func lifecycleStatements(c *cluster, q queues, nodes nodeRoles) []awsiam.PolicyStatement {
	statements := []awsiam.PolicyStatement{
		describeCluster(c),
		describeRegion(append(classSelections(), "Instances", "InstanceStatus", "LaunchTemplates")...),
		readParameters(c),
		sendMessages(q.provision, q.lifecycle),
	}
	if c.configuration.dryRun {
		return append(statements, readInstanceProfiles(), listInstanceProfiles())
	}
	statements = append(statements, endInstances(c)...)
	statements = append(statements, endTemplatesAndProfiles(c)...)
	return append(statements, useNodeRole(c, nodes)...)
}

func disruptStatements(c *cluster, q queues) []awsiam.PolicyStatement {
	return []awsiam.PolicyStatement{describeCluster(c), sendMessages(q.disrupt, q.lifecycle, q.provision)}
}

func catalogStatements(c *cluster) []awsiam.PolicyStatement {
	return []awsiam.PolicyStatement{
		describeCluster(c),
		describeRegion("InstanceTypes", "InstanceTypeOfferings", "AvailabilityZones", "SpotPriceHistory"),
		// The price list takes no resource, and answers in a few regions only: no condition on the region.
		allow("Prices", jsii.Strings("pricing:GetProducts"), []*string{jsii.String("*")}, nil),
	}
}

func installStatements(c *cluster, catalog function) []awsiam.PolicyStatement {
	return []awsiam.PolicyStatement{
		describeCluster(c),
		allow("FirstCatalog", jsii.Strings("lambda:InvokeFunction"), []*string{catalog.lambda.FunctionArn()}, nil),
	}
}

// describeCluster gives the cluster's endpoint and certificate authority.
func describeCluster(c *cluster) awsiam.PolicyStatement {
	return allow("Cluster", jsii.Strings("eks:DescribeCluster"),
		[]*string{arn("eks:${AWS::Region}:${AWS::AccountId}:cluster/" + c.name)}, nil)
}

// classSelections are what an EC2NodeClass selects in EC2.
func classSelections() []string {
	return []string{"Subnets", "SecurityGroups", "Images", "CapacityReservations", "PlacementGroups"}
}

// describeRegion gives EC2's Describe calls for the named things. They take no resource: the region is all that bounds them.
func describeRegion(things ...string) awsiam.PolicyStatement {
	var actions []string
	for _, thing := range things {
		actions = append(actions, "ec2:Describe"+thing)
	}
	return describe("Describe", actions...)
}

// describeNetwork is what Lambda looks at to place a function in a VPC.
func describeNetwork() awsiam.PolicyStatement {
	return describe("NetworkState", "ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets")
}

func describe(sid string, actions ...string) awsiam.PolicyStatement {
	return allow(sid, jsii.Strings(actions...), []*string{jsii.String("*")},
		conditions{"StringEquals": {"aws:RequestedRegion": awscdk.Aws_REGION()}})
}

// readParameters gives the public parameters under which AWS publishes its images, and those of the account's own that the
// user names.
func readParameters(c *cluster) awsiam.PolicyStatement {
	arns := []*string{arn("ssm:${AWS::Region}::parameter/aws/service/*")}
	for _, name := range c.configuration.imageParameters {
		arns = append(arns, arn("ssm:${AWS::Region}:${AWS::AccountId}:parameter"+name))
	}
	return allow("ImageParameters", jsii.Strings("ssm:GetParameters"), arns, nil)
}

func sendMessages(to ...awssqs.Queue) awsiam.PolicyStatement {
	var arns []*string
	for _, queue := range to {
		arns = append(arns, queue.QueueArn())
	}
	return allow("Send", jsii.Strings("sqs:SendMessage"), arns, nil)
}

// readQueue gives what Lambda's poller does with the function's role.
// https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
func readQueue(queue awssqs.Queue) awsiam.PolicyStatement {
	return allow("Receive", jsii.Strings("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"),
		[]*string{queue.QueueArn()}, nil)
}

// useKey gives what SQS does with the user's key, in the name of who sends and receives.
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-key-management.html
func useKey(c *cluster) awsiam.PolicyStatement {
	return allow("Key", jsii.Strings("kms:GenerateDataKey", "kms:Decrypt"), []*string{jsii.String(c.configuration.kmsKey)},
		conditions{"StringEquals": {"kms:ViaService": awscdk.Fn_Sub(jsii.String("sqs.${AWS::Region}.amazonaws.com"), nil)}})
}

// writeLog gives the function's own log group, which the stack makes: no right to make one.
func writeLog(group awslogs.LogGroup) awsiam.PolicyStatement {
	return allow("Log", jsii.Strings("logs:CreateLogStream", "logs:PutLogEvents"), []*string{group.LogGroupArn()}, nil)
}

// ec2ARNs are the ARNs of every resource of the given kinds in the region. The account stays open, as subnets and images
// may be another account's that shares them; images and snapshots carry none.
func ec2ARNs(kinds ...string) []*string {
	var arns []*string
	for _, kind := range kinds {
		account := "*"
		if strings.HasPrefix(kind, "image/") || strings.HasPrefix(kind, "snapshot/") {
			account = ""
		}
		arns = append(arns, arn("ec2:${AWS::Region}:"+account+":"+kind))
	}
	return arns
}
