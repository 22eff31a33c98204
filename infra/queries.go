package infra

import (
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"github.com/whittle-dev/whittle/shared/version"
)

// query is a saved query of Logs Insights over all functions of a cluster.
type query struct{ id, name, text string }

// queries lists the saved queries. NAME stands for what a person fills in.
func queries() []query {
	const fields = "fields @timestamp, function, level, msg, NodeClaim, Node, Pod, error | sort @timestamp asc | " +
		"limit 1000"
	const latest = " | sort @timestamp desc | limit 1000"
	return []query{
		{
			"ErrorQuery", "1 what failed",
			"fields @timestamp, function, level, msg, error, NodeClaim, NodePool, Pod, requestId | " +
				"filter level = 'ERROR' or level = 'WARN'" + latest,
		},
		{
			"PendingQuery", "2 why pods wait",
			"fields @timestamp, msg, Pod, NodePool, NodeClaim, reason, error | filter msg in ['could not schedule pod', " +
				"'nodepool gets no nodes', 'nodepool lacks nodes', 'nodepool has no compatible instance type', " +
				"'failed launching nodeclaim', 'giving up nodeclaim', 'the node launched for the pod does not serve it', " +
				"'a part of the cluster is not read, and its pods wait', 'the plan leaves pods out because of a defect']" +
				latest,
		},
		{
			"EndQuery", "3 why nodes went",
			"fields @timestamp, function, msg, coalesce(because, condition, reason) as why, decision, NodeClaim, " +
				"Node, NodePool, messageKind | filter msg in [" + literals(endings()) + "]" + latest,
		},
		{
			"LaunchQuery", "4 what was launched, at what price",
			"fields @timestamp, NodeClaim, `instance-type`, zone, `capacity-type`, price, savings, `provider-id` | " +
				"filter msg = 'launched nodeclaim'" + latest,
		},
		{
			"HoldQuery", "5 who held it up",
			"fields @timestamp, function, msg, NodePool, Node, NodeClaim, Pod, reason, error | filter msg in [" +
				"'a pod holds up the drain', 'node repair is blocked', 'replacement rolled back', 'consolidation rejected', " +
				"'zonal shifts changed', 'working without the lease', " +
				"'standby: Karpenter acts in this cluster; scale its Deployment to 0 to let Whittle act', " +
				"'another invocation has the lease', 'another invocation is provisioning: it sees the same pods']" + latest,
		},
		{"NodeClaimQuery", "story of a NodeClaim", "filter NodeClaim = 'NAME' or @message like 'NAME' | " + fields},
		{"PodQuery", "story of a pod", "filter Pod like 'NAME' or @message like 'NAME' | " + fields},
	}
}

// endings are the messages that say why a node goes, by the function that decides it.
func endings() []string {
	return []string{
		"disrupting node(s)", "deleting replaced nodeclaim", "initiating delete from interruption message",
		"deleting unhealthy node", "deleting expired nodeclaim", "deleting nodeclaim of a deleted node",
		"deleting nodeclaim before its instance is taken", "deleting nodeclaim after a failed reboot",
		"deleting nodeclaim to satisfy replica count",
		"deleting nodeclaim of a gang that is not whole", "deleting replacement that is not needed",
		"terminating due to timeout", "node vanished without its finalizer",
		"garbage collecting nodeclaim with no cloudprovider representation", "garbage collected cloudprovider instance",
	}
}

// literals is a list of strings in the language of Logs Insights.
func literals(texts []string) string { return "'" + strings.Join(texts, "', '") + "'" }

// newQueries saves the queries. Saved queries cost nothing; running one costs $0.005 for each GB of
// logs.
func newQueries(c *cluster, f functions) {
	var groups []any
	for _, one := range f.all() {
		groups = append(groups, jsii.String("/aws/lambda/"+*c.physicalName(one.name)))
	}
	for _, q := range queries() {
		made := awslogs.NewCfnQueryDefinition(c.scope, jsii.String(q.id), &awslogs.CfnQueryDefinitionProps{
			Name: jsii.String(c.prefix + "/" + q.name), QueryString: jsii.String(q.text), LogGroupNames: &groups,
		})
		for _, one := range f.all() {
			made.Node().AddDependency(one.lambda) // whose log group it names
		}
	}
}

// newNextSteps adds the outputs that a person reads after a deployment.
func newNextSteps(c *cluster) {
	output := func(id, description, value string) {
		awscdk.NewCfnOutput(c.scope, jsii.String(id), &awscdk.CfnOutputProps{
			Description: jsii.String("Cluster " + c.name + ": " + description), Value: jsii.String(value),
		})
	}
	output("Version", "the version of its functions", version.Version)
	if c.configuration.dashboard {
		output("DashboardAddress", "the address of its dashboard", *awscdk.Fn_Join(jsii.String(""), &[]*string{
			jsii.String("https://"), consoleHost(c), jsii.String("/cloudwatch/home?region="), awscdk.Aws_REGION(),
			jsii.String("#dashboards/dashboard/" + c.prefix),
		}))
	}
	output("NextSteps", "what to do next", "aws eks update-kubeconfig --name "+c.name+
		"; bin/whittle init -cluster "+c.name+" | kubectl apply --server-side -f -; bin/whittle status")
}

// consoleHost is the host of AWS's console in the stack's partition.
// https://docs.aws.amazon.com/govcloud-us/latest/UserGuide/using-govcloud-endpoints.html
func consoleHost(c *cluster) *string {
	host := jsii.String("console.aws.amazon.com")
	for _, other := range []struct{ id, partition, host string }{
		{"China", "aws-cn", "console.amazonaws.cn"}, {"GovCloud", "aws-us-gov", "console.amazonaws-us-gov.com"},
	} {
		there := awscdk.NewCfnCondition(c.scope, jsii.String(other.id), &awscdk.CfnConditionProps{
			Expression: awscdk.Fn_ConditionEquals(awscdk.Aws_PARTITION(), other.partition),
		})
		host = awscdk.Token_AsString(awscdk.Fn_ConditionIf(there.LogicalId(), other.host, host), nil)
	}
	return host
}
