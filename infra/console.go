package infra

import (
	"strings"
	"time"

	"github.com/aws/jsii-runtime-go"
)

// newConsole adds the function behind the dashboard's custom widget. CloudWatch calls it with the
// rights of the person at the dashboard. That person needs lambda:InvokeFunction, so the function
// needs no permission of its own for the call.
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/add_custom_widget_dashboard_about.html
func newConsole(c *cluster, f functions) function {
	var groups []string
	for _, teller := range f.tellers() {
		groups = append(groups, "/aws/lambda/"+*c.physicalName(teller.name))
	}
	return newFunction(c, functionProperties{
		name: "console", id: "Console", timeout: 30 * time.Second,
		description: "Shows the cluster in a dashboard's custom widget",
		environment: given(map[string]*string{
			"KARPENTER_SERVICE_ACCOUNTS": jsii.String(c.configuration.karpenterServiceAccounts),
			"HISTORY_LOG_GROUPS":         jsii.String(strings.Join(groups, ",")),
		}),
		statements: append(readHistory(f), describeCluster(c)),
	})
}

// tellers are the functions whose logs tell what happened to nodes.
func (f functions) tellers() []function {
	return []function{f.provision, f.lifecycle, f.disrupt, f.interrupt}
}
