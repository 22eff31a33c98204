package infra

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"
)

// newConsole adds the function behind the dashboard's custom widget. CloudWatch calls it with the
// rights of the person at the dashboard. That person needs lambda:InvokeFunction, so the function
// needs no permission of its own for the call.
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/add_custom_widget_dashboard_about.html
func newConsole(c *cluster) function {
	return newFunction(c, functionProperties{
		name: "console", id: "Console", timeout: 30 * time.Second,
		description: "Shows the cluster in a dashboard's custom widget",
		environment: given(map[string]*string{
			"KARPENTER_SERVICE_ACCOUNTS": jsii.String(c.configuration.karpenterServiceAccounts),
		}),
		statements: []awsiam.PolicyStatement{describeCluster(c)},
	})
}
