package identity

import "fmt"

// managedPolicy is a policy with an ARN of its own.
type managedPolicy struct {
	arn      string
	document *document
}

// awsManaged returns the AWS managed policies that the local AWS knows, with the actions that
// matter here, on all resources. The real ones have more:
// https://docs.aws.amazon.com/aws-managed-policy/latest/reference/policy-list.html.
func awsManaged() (map[string]*managedPolicy, error) {
	actions := map[string]string{
		"AdministratorAccess": `"*"`,
		"AmazonEC2ContainerRegistryPullOnly": `"ecr:GetAuthorizationToken","ecr:BatchCheckLayerAvailability",` +
			`"ecr:GetDownloadUrlForLayer","ecr:BatchGetImage","ecr:BatchImportUpstreamImage"`,
		"AmazonEC2ContainerRegistryReadOnly": `"ecr:GetAuthorizationToken","ecr:BatchCheckLayerAvailability",` +
			`"ecr:GetDownloadUrlForLayer","ecr:BatchGetImage","ecr:Describe*","ecr:List*"`,
		"AmazonEKSClusterPolicy": `"ec2:Describe*","ec2:CreateTags","elasticloadbalancing:*",` +
			`"autoscaling:Describe*","kms:DescribeKey"`,
		"AmazonEKSWorkerNodePolicy": `"ec2:DescribeInstances","ec2:DescribeInstanceTypes",` +
			`"ec2:DescribeRouteTables","ec2:DescribeSecurityGroups","ec2:DescribeSubnets","ec2:DescribeVolumes",` +
			`"ec2:DescribeVolumesModifications","ec2:DescribeVpcs","eks:DescribeCluster","eks-auth:AssumeRoleForPodIdentity"`,
		"AmazonEKSWorkerNodeMinimalPolicy": `"ec2:DescribeInstances","eks-auth:AssumeRoleForPodIdentity"`,
		"AmazonEKS_CNI_Policy": `"ec2:AssignPrivateIpAddresses","ec2:AttachNetworkInterface",` +
			`"ec2:CreateNetworkInterface","ec2:DeleteNetworkInterface","ec2:DescribeInstances","ec2:DescribeInstanceTypes",` +
			`"ec2:DescribeNetworkInterfaces","ec2:DescribeSubnets","ec2:DescribeTags","ec2:DetachNetworkInterface",` +
			`"ec2:ModifyNetworkInterfaceAttribute","ec2:UnassignPrivateIpAddresses","ec2:CreateTags"`,
		"AmazonSSMManagedInstanceCore": `"ssm:DescribeAssociation",` +
			`"ssm:GetDeployablePatchSnapshotForInstance","ssm:GetDocument","ssm:DescribeDocument","ssm:GetManifest",` +
			`"ssm:GetParameter","ssm:GetParameters","ssm:ListAssociations","ssm:ListInstanceAssociations","ssm:PutInventory",` +
			`"ssm:UpdateInstanceInformation","ssmmessages:*","ec2messages:*"`,
		"CloudWatchAgentServerPolicy": `"cloudwatch:PutMetricData","ec2:DescribeVolumes",` +
			`"ec2:DescribeTags","logs:PutLogEvents","logs:DescribeLogStreams","logs:DescribeLogGroups",` +
			`"logs:CreateLogStream","logs:CreateLogGroup"`,
		"service-role/AWSLambdaBasicExecutionRole": `"logs:CreateLogGroup","logs:CreateLogStream","logs:PutLogEvents"`,
		"service-role/AWSLambdaSQSQueueExecutionRole": `"sqs:ReceiveMessage","sqs:DeleteMessage",` +
			`"sqs:GetQueueAttributes","logs:CreateLogGroup","logs:CreateLogStream","logs:PutLogEvents"`,
		"service-role/AWSLambdaVPCAccessExecutionRole": `"logs:CreateLogGroup","logs:CreateLogStream","logs:PutLogEvents",` +
			`"ec2:CreateNetworkInterface","ec2:DescribeNetworkInterfaces","ec2:DescribeSubnets","ec2:DeleteNetworkInterface",` +
			`"ec2:AssignPrivateIpAddresses","ec2:UnassignPrivateIpAddresses"`,
		"CloudWatchLambdaInsightsExecutionRolePolicy": `"logs:CreateLogGroup","logs:CreateLogStream","logs:PutLogEvents"`,
		"AWSXRayDaemonWriteAccess": `"xray:PutTraceSegments","xray:PutTelemetryRecords",` +
			`"xray:GetSamplingRules","xray:GetSamplingTargets","xray:GetSamplingStatisticSummaries"`,
		"service-role/AmazonEBSCSIDriverPolicy": `"ec2:CreateSnapshot","ec2:AttachVolume","ec2:DetachVolume",` +
			`"ec2:ModifyVolume","ec2:Describe*","ec2:CreateTags","ec2:CreateVolume","ec2:DeleteVolume","ec2:DeleteSnapshot"`,
	}
	policies := map[string]*managedPolicy{}
	for name, list := range actions {
		d, err := parseDocument(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":[`+list+
			`],"Resource":"*"}]}`, false)
		if err != nil {
			return nil, fmt.Errorf("AWS managed policy %s: %w", name, err)
		}
		arn := "arn:aws:iam::aws:policy/" + name
		policies[arn] = &managedPolicy{arn: arn, document: d}
	}
	return policies, nil
}
