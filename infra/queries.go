package infra

import (
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
	return []query{
		{"NodeClaimQuery", "story of a NodeClaim", "filter NodeClaim = 'NAME' or @message like 'NAME' | " + fields},
		{"PodQuery", "story of a pod", "filter Pod like 'NAME' or @message like 'NAME' | " + fields},
		{
			"ErrorQuery", "errors",
			"fields @timestamp, function, msg, error, requestId | filter level = 'ERROR' or level = 'WARN' | " +
				"sort @timestamp desc | limit 200",
		},
	}
}

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
