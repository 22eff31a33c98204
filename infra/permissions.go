package infra

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

// allow returns a statement that allows actions on resources under conditions.
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

// arn returns the ARN with the stack's partition and the given rest. ${AWS::Region} and
// ${AWS::AccountId} stand for the stack's own.
func arn(rest string) *string {
	return awscdk.Fn_Sub(jsii.String("arn:${AWS::Partition}:"+rest), nil)
}

func provisionStatements(c *cluster, nodes nodeRoles) []awsiam.PolicyStatement {
	statements := []awsiam.PolicyStatement{
		describeCluster(c),
		describeRegion(append(classSelections(), "Instances")...),
		readParameters(c),
	}
	statements = append(statements, readShifts(c)...)
	statements = append(statements, startWatch(c)...)
	if c.configuration.dryRun {
		return append(statements, readInstanceProfiles())
	}
	statements = append(statements, readFreezeAlarms(c)...)
	statements = append(statements, publishEvents(c)...)
	statements = append(statements, launchInstances(c)...)
	statements = append(statements, useVolumeKeys(c)...)
	return append(statements, useNodeRole(c, nodes)...)
}

func interruptStatements(c *cluster, q queues) []awsiam.PolicyStatement {
	return []awsiam.PolicyStatement{
		describeCluster(c),
		// EC2 is asked whether an event that names many nodes is true.
		describeRegion("InstanceStatus", "CapacityReservations"),
		// A failed message comes back after a second or two.
		allow("Postpone", jsii.Strings("sqs:ChangeMessageVisibility"),
			[]*string{q.interrupt.QueueArn(), q.warnings.QueueArn()}, nil),
	}
}

func lifecycleStatements(c *cluster, nodes nodeRoles) []awsiam.PolicyStatement {
	statements := []awsiam.PolicyStatement{
		describeCluster(c),
		describeRegion(append(classSelections(), "Instances", "InstanceStatus", "LaunchTemplates")...),
		readParameters(c),
	}
	statements = append(statements, readShifts(c)...)
	statements = append(statements, startWatch(c)...)
	if c.configuration.dryRun {
		return append(statements, readInstanceProfiles(), listInstanceProfiles())
	}
	statements = append(statements, publishEvents(c)...)
	statements = append(statements, endInstances(c)...)
	statements = append(statements, rebootInstances(c)...)
	statements = append(statements, endTemplatesAndProfiles(c)...)
	return append(statements, useNodeRole(c, nodes)...)
}

func disruptStatements(c *cluster) []awsiam.PolicyStatement {
	return append(append(readShifts(c), describeCluster(c)), publishEvents(c)...)
}

func watchStatements(c *cluster) []awsiam.PolicyStatement {
	return append(startWatch(c), describeCluster(c))
}

// publishEvents allows sending Whittle's own events to the bus, and no others.
func publishEvents(c *cluster) []awsiam.PolicyStatement {
	bus := c.configuration.eventBus
	if bus == "" || c.configuration.dryRun {
		return nil
	}
	resource := jsii.String(bus)
	if !strings.HasPrefix(bus, "arn:") {
		resource = arn("events:${AWS::Region}:${AWS::AccountId}:event-bus/" + bus)
	}
	return []awsiam.PolicyStatement{
		allow("Publish", jsii.Strings("events:PutEvents"), []*string{resource}, conditions{
			"StringEquals": {"events:source": "whittle"},
		}),
	}
}

// startWatch allows starting a watch, where one runs at times.
func startWatch(c *cluster) []awsiam.PolicyStatement {
	if !c.watches() {
		return nil
	}
	watch := arn("lambda:${AWS::Region}:${AWS::AccountId}:function:" + *c.physicalName("watch"))
	return []awsiam.PolicyStatement{allow("StartWatch", jsii.Strings("lambda:InvokeFunction"), []*string{watch}, nil)}
}

func catalogStatements(c *cluster) []awsiam.PolicyStatement {
	facts := []string{"InstanceTypes", "InstanceTypeOfferings", "AvailabilityZones", "SpotPriceHistory"}
	asks := c.configuration.commitments && c.configuration.commitmentFile == ""
	if asks {
		facts = append(facts, "ReservedInstances")
	}
	statements := []awsiam.PolicyStatement{
		describeCluster(c),
		describeRegion(facts...),
		// The price list has no resources and answers in few regions, so no condition names the
		// region.
		allow("Prices", jsii.Strings("pricing:GetProducts"), []*string{jsii.String("*")}, nil),
	}
	if !asks {
		return statements
	}
	// The plans are the account's. They have no region, because the service answers in one for all of a partition.
	// https://docs.aws.amazon.com/service-authorization/latest/reference/list_awssavingsplans.html
	return append(statements, allow("SavingsPlans",
		jsii.Strings("savingsplans:DescribeSavingsPlans", "savingsplans:DescribeSavingsPlanRates"),
		[]*string{arn("savingsplans::${AWS::AccountId}:savingsplan/*")}, nil))
}

func installStatements(c *cluster, q queues, catalog function) []awsiam.PolicyStatement {
	statements := append([]awsiam.PolicyStatement{
		describeCluster(c),
		allow("FirstCatalog", jsii.Strings("lambda:InvokeFunction"), []*string{catalog.lambda.FunctionArn()}, nil),
	}, readShifts(c)...)
	statements = append(statements, readFreezeAlarms(c)...)
	return append(statements, testDelivery(c, q)...)
}

// describeCluster allows reading the cluster's endpoint and certificate authority.
func describeCluster(c *cluster) awsiam.PolicyStatement {
	return allow("Cluster", jsii.Strings("eks:DescribeCluster"),
		[]*string{clusterARN(c)}, nil)
}

// readShifts allows reading the cluster's zonal shifts, where functions follow them.
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonarczonalshift.html
func readShifts(c *cluster) []awsiam.PolicyStatement {
	if !c.configuration.zonalShift {
		return nil
	}
	// ARC knows load balancers alone as resources of this action. For other resources a condition names them.
	// https://docs.aws.amazon.com/r53recovery/latest/dg/security_iam_service-with-iam-zonal-shift.html
	return []awsiam.PolicyStatement{
		allow("ZonalShifts", jsii.Strings("arc-zonal-shift:GetManagedResource"), []*string{jsii.String("*")}, conditions{
			"StringEquals": {"arc-zonal-shift:ResourceIdentifier": clusterARN(c)},
		}),
	}
}

// readHistory allows queries of the logs that tell what happened to nodes, and of no others.
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazoncloudwatchlogs.html
func readHistory(f functions) []awsiam.PolicyStatement {
	var groups []*string
	for _, teller := range f.tellers() {
		groups = append(groups, teller.log.LogGroupArn())
	}
	return []awsiam.PolicyStatement{
		allow("History", jsii.Strings("logs:StartQuery", "logs:GetQueryResults"), groups, nil),
	}
}

// clusterARN returns the ARN of the EKS cluster.
func clusterARN(c *cluster) *string {
	return arn("eks:${AWS::Region}:${AWS::AccountId}:cluster/" + c.name)
}

// shiftedCluster is the ARN of the cluster whose zonal shifts a function follows, or empty.
func shiftedCluster(c *cluster) *string {
	if !c.configuration.zonalShift {
		return jsii.String("")
	}
	return clusterARN(c)
}

// classSelections returns the EC2 objects that an EC2NodeClass selects.
func classSelections() []string {
	return []string{"Subnets", "SecurityGroups", "Images", "CapacityReservations", "PlacementGroups"}
}

// describeRegion allows EC2's Describe calls for the named things. They take no resource, so only
// the region limits them.
func describeRegion(things ...string) awsiam.PolicyStatement {
	var actions []string
	for _, thing := range things {
		actions = append(actions, "ec2:Describe"+thing)
	}
	return describe("Describe", actions...)
}

// describeNetwork allows the reads by which Lambda places a function in a VPC.
func describeNetwork() awsiam.PolicyStatement {
	return describe("NetworkState", "ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets")
}

func describe(sid string, actions ...string) awsiam.PolicyStatement {
	return allow(sid, jsii.Strings(actions...), []*string{jsii.String("*")},
		conditions{"StringEquals": {"aws:RequestedRegion": awscdk.Aws_REGION()}})
}

// readParameters allows reading AWS's public image parameters, and those that the user names.
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

// readQueues allows what Lambda's poller does with the function's role.
// https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
func readQueues(queues ...awssqs.Queue) awsiam.PolicyStatement {
	var arns []*string
	for _, queue := range queues {
		arns = append(arns, queue.QueueArn())
	}
	return allow("Receive", jsii.Strings("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"), arns, nil)
}

// useKey allows what SQS does with the user's key on behalf of sender and receiver.
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-key-management.html
func useKey(c *cluster) awsiam.PolicyStatement {
	return allow("Key", jsii.Strings("kms:GenerateDataKey", "kms:Decrypt"), []*string{jsii.String(c.configuration.kmsKey)},
		conditions{"StringEquals": {"kms:ViaService": awscdk.Fn_Sub(jsii.String("sqs.${AWS::Region}.amazonaws.com"), nil)}})
}

// writeLog allows writing to the function's own log group. The stack makes the group.
func writeLog(group awslogs.LogGroup) awsiam.PolicyStatement {
	return allow("Log", jsii.Strings("logs:CreateLogStream", "logs:PutLogEvents"), []*string{group.LogGroupArn()}, nil)
}

// ec2ARNs returns the ARNs of all resources of the given kinds in the region. The account is open,
// because another account may share subnets and images. ARNs of images and snapshots have none.
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
