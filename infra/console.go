package main

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
)

// newConsole adds the function behind the dashboard's custom widget. CloudWatch calls it with the rights of whoever looks at the
// dashboard, so that it needs no permission of its own for that; they need lambda:InvokeFunction on it.
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/add_custom_widget_dashboard_about.html
func newConsole(c *cluster) function {
	return newFunction(c, functionProperties{
		name: "console", id: "Console", timeout: 30 * time.Second,
		description: "Shows the cluster in a dashboard's custom widget",
		statements:  []awsiam.PolicyStatement{describeCluster(c)},
	})
}
