package infra

import (
	"reflect"
	"slices"
	"testing"
)

func TestSchedules(t *testing.T) {
	template := synthesize(t, "prod")
	rates := map[any]any{}
	for id, schedule := range template.ofType("AWS::Scheduler::Schedule") {
		target := schedule.Properties["Target"].(map[string]any)
		function := references(target["Arn"])[0]
		name := template.Resources[function].Properties["FunctionName"]
		rates[name] = schedule.Properties["ScheduleExpression"]
		if schedule.Properties["Name"] != name {
			t.Errorf("%s is named %v and wakes %v", id, schedule.Properties["Name"], name)
		}
		if schedule.Properties["State"] != "ENABLED" {
			t.Errorf("%s is %v", id, schedule.Properties["State"])
		}
		retry := target["RetryPolicy"].(map[string]any)
		if age := retry["MaximumEventAgeInSeconds"].(float64); age < 60 || age > 86400 {
			t.Errorf("%s: %v s is no age that Scheduler accepts", id, age)
		}
		if retry["MaximumRetryAttempts"].(float64) < 1 {
			t.Errorf("%s is not tried again", id)
		}
		role := template.Resources[references(target["RoleArn"])[0]]
		rights := statements(t, role)
		if len(rights) != 2 || !slices.Equal(rights[0].actions, []string{"lambda:InvokeFunction"}) ||
			!reflect.DeepEqual(rights[0].resources, []any{attribute(function, "Arn")}) ||
			!slices.Equal(rights[1].actions, []string{"sqs:SendMessage"}) ||
			!reflect.DeepEqual(rights[1].resources, []any{target["DeadLetterConfig"].(map[string]any)["Arn"]}) {
			t.Errorf("%s has the rights %v", id, rights)
		}
		trust := role.Properties["AssumeRolePolicyDocument"].(map[string]any)["Statement"].([]any)[0].(map[string]any)
		want := map[string]any{"StringEquals": map[string]any{
			"aws:SourceAccount": map[string]any{"Ref": "AWS::AccountId"},
			"aws:SourceArn": map[string]any{
				"Fn::Sub": "arn:${AWS::Partition}:scheduler:${AWS::Region}:${AWS::AccountId}:schedule-group/default",
			},
		}}
		if !reflect.DeepEqual(trust["Condition"], want) {
			t.Errorf("%s: its role trusts under %v, want %v", id, trust["Condition"], want)
		}
	}
	want := map[any]any{"whittle-prod-ticker": "rate(1 minute)", "whittle-prod-catalog": "rate(1 hour)"}
	if !reflect.DeepEqual(rates, want) {
		t.Errorf("schedules %v, want %v", rates, want)
	}
}
