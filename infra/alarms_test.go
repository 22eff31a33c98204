package main

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestTheAlarmCountsEveryDeadLetterQueue also holds its conditions: it rings at one message.
func TestTheAlarmCountsEveryDeadLetterQueue(t *testing.T) {
	template := synthesize(t, "prod")
	alarms := template.ofType("AWS::CloudWatch::Alarm")
	if len(alarms) != 1 {
		t.Fatalf("%d alarms, want one", len(alarms))
	}
	for _, alarm := range alarms {
		var counted, want []string
		for _, item := range alarm.Properties["Metrics"].([]any) {
			query := item.(map[string]any)
			stat, ok := query["MetricStat"].(map[string]any)
			if !ok {
				if query["ReturnData"] != true || query["Expression"] != "SUM(FILL(METRICS(), 0))" {
					t.Errorf("the alarm looks at %v", query)
				}
				continue
			}
			if query["ReturnData"] != false || stat["Stat"] != "Maximum" {
				t.Errorf("a metric is %v", query)
			}
			dimension := stat["Metric"].(map[string]any)["Dimensions"].([]any)[0].(map[string]any)
			counted = append(counted, references(dimension["Value"])...)
		}
		for id, queue := range template.ofType("AWS::SQS::Queue") {
			if strings.HasSuffix(queue.Properties["QueueName"].(string), "-dead") {
				want = append(want, id)
			}
		}
		slices.Sort(counted)
		slices.Sort(want)
		if !slices.Equal(counted, want) || len(want) == 0 {
			t.Errorf("counts %v, want %v", counted, want)
		}
		for property, want := range map[string]any{"Threshold": 0.0, "ComparisonOperator": "GreaterThanThreshold", "EvaluationPeriods": 1.0, "TreatMissingData": "notBreaching", "AlarmActions": nil} {
			if got := alarm.Properties[property]; !reflect.DeepEqual(got, want) {
				t.Errorf("%s is %v, want %v", property, got, want)
			}
		}
	}
}
