package infra

import (
	"strings"
	"testing"
)

// TestAlarmsGoByMail has an address beside a topic, and neither.
func TestAlarmsGoByMail(t *testing.T) {
	template := chosen(t, map[string]any{
		"alarmEmail": "oncall@example.com", "alarmTopic": "arn:aws:sns:us-east-1:123456789012:pages",
	})
	topics, subscriptions := template.ofType("AWS::SNS::Topic"), template.ofType("AWS::SNS::Subscription")
	if len(topics) != 1 || len(subscriptions) != 1 {
		t.Fatalf("%d topics and %d subscriptions", len(topics), len(subscriptions))
	}
	for id, subscription := range subscriptions {
		if subscription.Properties["Endpoint"] != "oncall@example.com" || subscription.Properties["Protocol"] != "email" {
			t.Errorf("%s: %v", id, subscription.Properties)
		}
	}
	for id, alarm := range template.ofType("AWS::CloudWatch::Alarm") {
		to, _ := alarm.Properties["AlarmActions"].([]any)
		if len(to) != 2 || to[0] != "arn:aws:sns:us-east-1:123456789012:pages" || topics[references(to[1])[0]].Type == "" {
			t.Errorf("%s goes to %v", id, to)
		}
	}
	for _, policy := range template.ofType("AWS::SNS::TopicPolicy") {
		text := encoded(t, policy.Properties["PolicyDocument"])
		for _, part := range []string{`"Service":"cloudwatch.amazonaws.com"`, `"aws:SourceAccount":`, `"aws:SecureTransport":"false"`} {
			if !strings.Contains(text, part) {
				t.Errorf("the topic's policy lacks %s: %s", part, text)
			}
		}
	}
	if made := chosen(t, map[string]any{}).ofType("AWS::SNS::Topic"); len(made) > 0 {
		t.Error("a topic is made for nobody")
	}
}

// TestSomebodyIsPagedOrTheDeploymentSaysSo holds for clusters that act and have alarms.
func TestSomebodyIsPagedOrTheDeploymentSaysSo(t *testing.T) {
	for name, test := range map[string]struct {
		c    clusterConfiguration
		says bool
	}{
		"nobody":    {clusterConfiguration{name: "prod", alarms: true}, true},
		"no alarms": {clusterConfiguration{name: "prod"}, false},
		"mail":      {clusterConfiguration{name: "prod", alarms: true, alarmEmail: "a@b.c"}, false},
		"topic":     {clusterConfiguration{name: "prod", alarms: true, alarmTopic: "arn"}, false},
		"dry run":   {clusterConfiguration{name: "prod", alarms: true, dryRun: true}, false},
	} {
		if got := pagesNotice(&test.c); (got != "") != test.says || test.says && !strings.Contains(got, "cluster prod page nobody") {
			t.Errorf("%s: %q", name, got)
		}
	}
}
