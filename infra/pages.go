package infra

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// pagesNotice warns of a cluster whose alarms notify nobody; empty for others.
func pagesNotice(c *clusterConfiguration) string {
	if !c.alarms || c.dryRun || c.alarmTopic != "" || c.alarmEmail != "" {
		return ""
	}
	return fmt.Sprintf("WARNING: the alarms of the cluster %s page nobody: deploy with alarmEmail=you@example.com, or "+
		"with the topic of your pager as alarmTopic", c.name)
}

// newPages returns the topics that alarms send to. An address for mail gets a topic of the stack. Its owner
// confirms the subscription once.
func newPages(c *cluster) []*string {
	var topics []*string
	if topic := c.configuration.alarmTopic; topic != "" {
		topics = append(topics, &topic)
	}
	if address := c.configuration.alarmEmail; address != "" {
		topics = append(topics, newTopic(c, address))
	}
	return topics
}

// newTopic adds a topic with a subscription by mail. Only CloudWatch of this account may publish there.
func newTopic(c *cluster, address string) *string {
	scope := constructs.NewConstruct(c.scope, jsii.String("Pages"))
	topic := awssns.NewTopic(scope, jsii.String("Topic"), &awssns.TopicProps{
		TopicName: c.physicalName("alarms"), EnforceSSL: jsii.Bool(true),
	})
	topic.AddToResourcePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid:        jsii.String("Alarms"),
		Principals: &[]awsiam.IPrincipal{awsiam.NewServicePrincipal(jsii.String("cloudwatch.amazonaws.com"), nil)},
		Actions:    jsii.Strings("sns:Publish"),
		Resources:  &[]*string{topic.TopicArn()},
		Conditions: &map[string]any{"StringEquals": map[string]any{"aws:SourceAccount": awscdk.Aws_ACCOUNT_ID()}},
	}))
	awssns.NewCfnSubscription(scope, jsii.String("Mail"), &awssns.CfnSubscriptionProps{
		TopicArn: topic.TopicArn(), Protocol: jsii.String("email"), Endpoint: &address,
	})
	return topic.TopicArn()
}
