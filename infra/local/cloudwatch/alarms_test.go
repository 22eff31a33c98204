package cloudwatch

import (
	"errors"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/infra/local/cloudformation"
)

func properties(change func(map[string]any)) map[string]any {
	made := map[string]any{
		"AlarmName": "letters", "ComparisonOperator": "GreaterThanThreshold", "EvaluationPeriods": 1.0, "Threshold": 2.0,
		"Metrics": []any{
			map[string]any{"Id": "all", "Expression": sum, "ReturnData": true},
			map[string]any{"Id": "q0", "ReturnData": false, "MetricStat": map[string]any{"Period": 60.0, "Stat": "Maximum", "Metric": map[string]any{
				"Namespace": "AWS/SQS", "MetricName": "ApproximateNumberOfMessagesVisible", "Dimensions": []any{map[string]any{"Name": "QueueName", "Value": "one"}},
			}}},
			map[string]any{"Id": "q1", "ReturnData": false, "MetricStat": map[string]any{"Period": 60.0, "Stat": "Maximum", "Metric": map[string]any{
				"Namespace": "AWS/SQS", "MetricName": "ApproximateNumberOfMessagesVisible", "Dimensions": []any{map[string]any{"Name": "QueueName", "Value": "two"}},
			}}},
		},
	}
	if change != nil {
		change(made)
	}
	return made
}

func TestAnAlarmRingsPastItsThreshold(t *testing.T) {
	service := New()
	made, err := alarmType{service}.Create(t.Context(), cloudformation.Request{GeneratedName: "x", Properties: properties(nil)})
	if err != nil || made.PhysicalID != "letters" {
		t.Fatalf("made %+v, %v", made, err)
	}
	for lengths, want := range map[[2]int]bool{{0, 0}: false, {1, 1}: false, {2, 1}: true} {
		ringing, err := service.Ringing(func(queue string) (int, error) { return lengths[map[string]int{"one": 0, "two": 1}[queue]], nil })
		if err != nil || (len(ringing) == 1) != want {
			t.Errorf("with %v the alarms %q ring, %v", lengths, ringing, err)
		}
	}
	if _, err := service.Ringing(func(string) (int, error) { return 0, errors.New("no such queue") }); err == nil {
		t.Error("a queue that cannot be counted passes for empty")
	}
	if err := (alarmType{service}).Delete(t.Context(), cloudformation.Request{PhysicalID: "letters"}); err != nil {
		t.Fatal(err)
	}
	if ringing, err := service.Ringing(func(string) (int, error) { return 9, nil }); err != nil || len(ringing) != 0 {
		t.Errorf("a deleted alarm rings: %q, %v", ringing, err)
	}
}

func TestWhatIsNotSimulatedIsRefused(t *testing.T) {
	for name, change := range map[string]func(map[string]any){
		"another comparison": func(p map[string]any) { p["ComparisonOperator"] = "LessThanThreshold" },
		"several periods":    func(p map[string]any) { p["EvaluationPeriods"] = 3.0 },
		"another expression": func(p map[string]any) { p["Metrics"].([]any)[0].(map[string]any)["Expression"] = "q0 * 2" },
	} {
		t.Run(name, func(t *testing.T) {
			_, err := alarmType{New()}.Create(t.Context(), cloudformation.Request{GeneratedName: "x", Properties: properties(change)})
			if err == nil || !strings.Contains(err.Error(), "letters") {
				t.Errorf("got %v, want an error that names the alarm", err)
			}
		})
	}
}
