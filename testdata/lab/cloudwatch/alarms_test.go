package cloudwatch

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/cloudformation"
)

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func query(id, queue string) map[string]any {
	return map[string]any{"Id": id, "ReturnData": false,
		"MetricStat": map[string]any{"Period": 60.0, "Stat": "Maximum", "Metric": map[string]any{
			"Namespace": "AWS/SQS", "MetricName": "Length",
			"Dimensions": []any{map[string]any{"Name": "QueueName", "Value": queue}},
		}}}
}

func properties(change func(map[string]any)) map[string]any {
	made := map[string]any{
		"AlarmName": "letters", "ComparisonOperator": "GreaterThanThreshold", "EvaluationPeriods": 5.0,
		"DatapointsToAlarm": 1.0, "Threshold": 2.0,
		"Metrics": []any{
			map[string]any{"Id": "all", "Expression": sum, "ReturnData": true}, query("q0", "one"), query("q1", "two"),
		},
	}
	if change != nil {
		change(made)
	}
	return made
}

func create(t *testing.T, properties map[string]any) *Service {
	t.Helper()
	service := New()
	made, err := alarmType{service}.Create(t.Context(), cloudformation.Request{GeneratedName: "x", Properties: properties})
	if err != nil || made.PhysicalID != "letters" {
		t.Fatalf("made %+v, %v", made, err)
	}
	return service
}

func TestASumRingsPastItsThreshold(t *testing.T) {
	service := create(t, properties(nil))
	for _, test := range []struct {
		one, two []float64
		want     bool
	}{
		{nil, nil, false}, {[]float64{1}, []float64{1}, false}, {[]float64{1, 2}, []float64{1}, true},
		{[]float64{3}, nil, true},
	} {
		ringing, err := service.Ringing(noon, func(metric Metric, _, _ time.Time) ([]float64, error) {
			return map[string][]float64{"one": test.one, "two": test.two}[metric.Dimensions["QueueName"]], nil
		})
		if err != nil || (len(ringing) == 1) != test.want {
			t.Errorf("with %v and %v the alarms %q ring, %v", test.one, test.two, ringing, err)
		}
	}
	if _, err := service.Ringing(noon, func(Metric, time.Time, time.Time) ([]float64, error) {
		return nil, errors.New("no such queue")
	}); err == nil {
		t.Error("a queue that cannot be counted passes for empty")
	}
	if err := (alarmType{service}).Delete(t.Context(), cloudformation.Request{PhysicalID: "letters"}); err != nil {
		t.Fatal(err)
	}
	if ringing, err := service.Ringing(noon, func(Metric, time.Time, time.Time) ([]float64, error) {
		return []float64{9}, nil
	}); err != nil || len(ringing) != 0 {
		t.Errorf("a deleted alarm rings: %q, %v", ringing, err)
	}
}

func TestAnAlarmRingsInSoManyOfItsPeriods(t *testing.T) {
	single := func(comparison, missing string) map[string]any {
		return map[string]any{
			"AlarmName": "letters", "ComparisonOperator": comparison, "EvaluationPeriods": 5.0, "DatapointsToAlarm": 3.0,
			"Threshold": 1.0, "TreatMissingData": missing,
			"Namespace": "AWS/Lambda", "MetricName": "Invocations", "Statistic": "Sum", "Period": 60.0,
			"Dimensions": []any{map[string]any{"Name": "FunctionName", "Value": "f"}},
		}
	}
	for name, test := range map[string]struct {
		comparison, missing string
		minutes             [8][]float64 // the last one, which is late, first
		want                bool
	}{
		"three of five":            {greater, "notBreaching", [8][]float64{{9}, {2}, {}, {1, 1}, {0}, {5}}, true},
		"two of five":              {greater, "notBreaching", [8][]float64{{9}, {2}, {}, {1, 1}, {0}, {0}}, false},
		"nothing came at all":      {less, "breaching", [8][]float64{}, true},
		"something came of late":   {less, "breaching", [8][]float64{nil, {1}, {1}, {1}}, false},
		"nothing, which is no ill": {less, "notBreaching", [8][]float64{}, false},
		// Two values that are older than the evaluated periods stand in for missing ones.
		"only the last one is late": {less, "breaching", [8][]float64{nil, {0}, {0}, {0}, {0}, {1}, {1}}, true},
		"older than all that is looked at": {
			greater, "notBreaching", [8][]float64{nil, {2}, {2}, {}, {}, {}, {}, {2}}, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			ringing, err := create(t, single(test.comparison, test.missing)).Ringing(noon,
				func(_ Metric, _, to time.Time) ([]float64, error) {
					return test.minutes[int(noon.Sub(to)/time.Minute)], nil
				})
			if err != nil || (len(ringing) == 1) != test.want {
				t.Errorf("the alarms %q ring, %v", ringing, err)
			}
		})
	}
}

// TestTheLastValueOfAFilledSumIsLate holds that FILL hides values that CloudWatch does not have yet: an
// alarm on the newest period alone never rings.
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html
func TestTheLastValueOfAFilledSumIsLate(t *testing.T) {
	for _, test := range []struct {
		periods float64
		late    time.Duration
		want    bool
	}{
		{1, 0, true}, {1, time.Minute, false}, {5, time.Minute, true}, {5, 4 * time.Minute, true},
		{5, 5 * time.Minute, false},
	} {
		service := create(t, properties(func(p map[string]any) { p["EvaluationPeriods"] = test.periods }))
		service.Lateness["AWS/SQS"] = test.late
		ringing, err := service.Ringing(noon, func(Metric, time.Time, time.Time) ([]float64, error) {
			return []float64{9}, nil
		})
		if err != nil || (len(ringing) == 1) != test.want {
			t.Errorf("1 of %g periods, %s late: the alarms %q ring, %v", test.periods, test.late, ringing, err)
		}
	}
}

func TestAlarmsRefuseUnsupportedProperties(t *testing.T) {
	for name, change := range map[string]func(map[string]any){
		"another comparison":  func(p map[string]any) { p["ComparisonOperator"] = "GreaterThanUpperThreshold" },
		"more due than there": func(p map[string]any) { p["DatapointsToAlarm"] = 6.0 },
		"another expression":  func(p map[string]any) { p["Metrics"].([]any)[0].(map[string]any)["Expression"] = "q0 * 2" },
		"several without sum": func(p map[string]any) { p["Metrics"] = []any{query("q0", "one"), query("q1", "two")} },
		"another statistic": func(p map[string]any) {
			p["Metrics"].([]any)[1].(map[string]any)["MetricStat"].(map[string]any)["Stat"] = "p99"
		},
		"ignored gaps": func(p map[string]any) { p["TreatMissingData"] = "ignore" },
	} {
		t.Run(name, func(t *testing.T) {
			_, err := alarmType{
				New(),
			}.Create(t.Context(), cloudformation.Request{GeneratedName: "x", Properties: properties(change)})
			if err == nil || !strings.Contains(err.Error(), "letters") {
				t.Errorf("got %v, want an error that names the alarm", err)
			}
		})
	}
}

func TestEmbeddedMetrics(t *testing.T) {
	const line = `{"Cluster":"prod","CapacityType":"spot","Nodes":[1,2.5],"_aws":{"Timestamp":1772366400000,` +
		`"CloudWatchMetrics":[{"Namespace":"Whittle","Dimensions":[["Cluster","CapacityType"]],` +
		`"Metrics":[{"Name":"Nodes"}]}]}}`
	metric := Metric{
		Namespace: "Whittle", Name: "Nodes", Dimensions: map[string]string{"Cluster": "prod", "CapacityType": "spot"},
	}
	if values, at := Embedded(line, metric); len(values) != 2 || values[1] != 2.5 || !at.Equal(noon) {
		t.Errorf("values %v at %s", values, at)
	}
	for name, other := range map[string]Metric{
		"another name": {Namespace: "Whittle", Name: "Launches", Dimensions: metric.Dimensions},
		"another value": {
			Namespace: "Whittle", Name: "Nodes", Dimensions: map[string]string{"Cluster": "prod", "CapacityType": "on-demand"},
		},
		"fewer":           {Namespace: "Whittle", Name: "Nodes", Dimensions: map[string]string{"Cluster": "prod"}},
		"another's space": {Namespace: "Other", Name: "Nodes", Dimensions: metric.Dimensions},
	} {
		if values, _ := Embedded(line, other); len(values) > 0 {
			t.Errorf("%s: %v", name, values)
		}
	}
	for _, other := range []string{"START RequestId", `{"msg":"planned"}`, `{"_aws": 1}`} {
		if values, _ := Embedded(other, metric); len(values) > 0 {
			t.Errorf("%s gives %v", other, values)
		}
	}
}

func TestDashboards(t *testing.T) {
	service := New()
	made, err := dashboardType{
		service,
	}.Create(t.Context(), cloudformation.Request{
		Properties: map[string]any{"DashboardName": "d", "DashboardBody": `{"widgets":[{"type":"metric"}]}`},
	})
	if err != nil || made.PhysicalID != "d" || len(service.dashboards) != 1 {
		t.Errorf("made %+v, %v", made, err)
	}
	if _, err := (dashboardType{service}).Update(t.Context(),
		cloudformation.Request{
			PhysicalID: "d", Properties: map[string]any{"DashboardName": "d", "DashboardBody": "{"},
		}); err == nil {
		t.Error("a body that is no JSON is taken")
	}
	if err := (dashboardType{service}).Delete(t.Context(), cloudformation.Request{PhysicalID: "d"}); err != nil ||
		len(service.dashboards) != 0 {
		t.Errorf("deleted: %v", err)
	}
}
