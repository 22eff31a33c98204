package infra

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/shared/metrics"
)

// alarmNamed returns the cluster prod's alarm by the end of its name.
func alarmNamed(t *testing.T, in template, name string) resource {
	t.Helper()
	for _, alarm := range in.ofType("AWS::CloudWatch::Alarm") {
		if alarm.Properties["AlarmName"] == "whittle-prod-"+name {
			return alarm
		}
	}
	t.Fatalf("there is no alarm %s", name)
	return resource{}
}

// TestAlarms checks the metric, threshold and periods of each alarm.
func TestAlarms(t *testing.T) {
	template := synthesize(t, "prod")
	var dead, events, undelivered, functions []string
	for id, queue := range template.ofType("AWS::SQS::Queue") {
		switch queue.Properties["QueueName"] {
		case "whittle-prod-interrupt", "whittle-prod-warnings":
			events = append(events, id)
		case "whittle-prod-undelivered":
			undelivered = append(undelivered, id)
		case "whittle-prod-dead":
			dead = append(dead, id)
		}
	}
	for id, function := range template.ofType("AWS::Lambda::Function") {
		// Failures of the others show elsewhere, and each metric of an alarm costs money.
		name := strings.TrimPrefix(function.Properties["FunctionName"].(string), "whittle-prod-")
		if slices.Contains([]string{"provision", "interrupt", "lifecycle", "disrupt", "catalog"}, name) {
			functions = append(functions, id)
		}
	}
	provision, _ := template.function(t, "whittle-prod-provision")
	lifecycle, _ := template.function(t, "whittle-prod-lifecycle")
	disrupt, _ := template.function(t, "whittle-prod-disrupt")
	for _, test := range []struct {
		name, metric string
		of           []string
		comparison   string
		threshold    float64
		due, periods float64
		missing      string
	}{
		{
			"dead-letters", "AWS/SQS ApproximateNumberOfMessagesVisible, Whittle UnreadableMessages", append(dead, "prod"),
			"GreaterThanThreshold", 0, 1, 10, "notBreaching",
		},
		{
			"errors", "AWS/Lambda Errors, Whittle FailedMessages", append(functions, "prod"), "GreaterThanThreshold", 0, 3, 15,
			"notBreaching",
		},
		{
			"events-waiting", "AWS/SQS ApproximateAgeOfOldestMessage", events, "GreaterThanThreshold", 90, 1, 5, "notBreaching",
		},
		{
			"events-undelivered", "AWS/SQS ApproximateNumberOfMessagesVisible", undelivered, "GreaterThanThreshold", 0, 1, 5,
			"notBreaching",
		},
		{"ticks-missing", "AWS/Lambda Invocations", []string{provision}, "LessThanThreshold", 1, 3, 3, "breaching"},
		{"lifecycle-missing", "AWS/Lambda Invocations", []string{lifecycle}, "LessThanThreshold", 1, 3, 3, "breaching"},
		{"disrupt-missing", "AWS/Lambda Invocations", []string{disrupt}, "LessThanThreshold", 1, 3, 3, "breaching"},
		{
			"pods-unserved", "Whittle OldestPodPendingSeconds", []string{"prod"}, "GreaterThanThreshold", 600, 1, 1,
			"notBreaching",
		},
		{"standby", "Whittle Standby", []string{"prod"}, "GreaterThanThreshold", 0, 5, 5, "notBreaching"},
		{"launch-failures", "Whittle LaunchFailures", []string{"prod"}, "GreaterThanThreshold", 0, 3, 20, "notBreaching"},
		{"catalog-old", "Whittle CatalogAgeSeconds", []string{"prod"}, "GreaterThanThreshold", 86400, 60, 60, "notBreaching"},
	} {
		t.Run(test.name, func(t *testing.T) {
			alarm := alarmNamed(t, template, test.name)
			kind, of := counted(t, alarm)
			slices.Sort(test.of)
			if kind != test.metric || !slices.Equal(of, test.of) {
				t.Errorf("counts %s of %v, want %s of %v", kind, of, test.metric, test.of)
			}
			for property, want := range map[string]any{
				"Threshold": test.threshold, "ComparisonOperator": test.comparison, "EvaluationPeriods": test.periods,
				"DatapointsToAlarm": test.due,
				"TreatMissingData":  test.missing, "AlarmActions": nil,
			} {
				if got := alarm.Properties[property]; !reflect.DeepEqual(got, want) {
					t.Errorf("%s is %v, want %v", property, got, want)
				}
			}
		})
	}
	if got := len(template.ofType("AWS::CloudWatch::Alarm")); got != 11 {
		t.Errorf("%d alarms", got)
	}
}

func TestThePageHasTheAlarms(t *testing.T) {
	const begin = "<!-- alarms: written by `go test ./infra -run Alarms -update` -->\n"
	checkTable(t, "../functions/README.md", begin, "<!-- end of alarms -->", alarmsTable())
}

// counted returns the name and the dimension values of the metrics that an alarm adds up.
func counted(t *testing.T, alarm resource) (metric string, of []string) {
	t.Helper()
	value := func(dimensions any) string {
		only := dimensions.([]any)[0].(map[string]any)
		if name, plain := only["Value"].(string); plain {
			return name
		}
		return references(only["Value"])[0]
	}
	if name, single := alarm.Properties["MetricName"]; single {
		return fmt.Sprint(alarm.Properties["Namespace"], " ", name), []string{value(alarm.Properties["Dimensions"])}
	}
	for _, item := range alarm.Properties["Metrics"].([]any) {
		query := item.(map[string]any)
		stat, ok := query["MetricStat"].(map[string]any)
		if !ok {
			if query["ReturnData"] != true || query["Expression"] != "SUM(FILL(METRICS(), 0))" {
				t.Errorf("the alarm looks at %v", query)
			}
			continue
		}
		if query["ReturnData"] != false {
			t.Errorf("a part of the sum is returned: %v", query)
		}
		one := stat["Metric"].(map[string]any)
		if name := fmt.Sprint(one["Namespace"], " ", one["MetricName"]); !strings.Contains(metric, name) {
			metric = strings.TrimPrefix(metric+", "+name, ", ")
		}
		of = append(of, value(one["Dimensions"]))
	}
	slices.Sort(of)
	return metric, of
}

func TestAlarmsAreSentToTheTopic(t *testing.T) {
	const topic = "arn:aws:sns:us-east-1:123456789012:pages"
	template := synthesizeWith(t, map[string]any{"clusters": "prod", "functions": builtFunctions(t), "alarmTopic": topic})
	for id, alarm := range template.ofType("AWS::CloudWatch::Alarm") {
		if !reflect.DeepEqual(alarm.Properties["AlarmActions"], []any{topic}) || !reflect.DeepEqual(
			alarm.Properties["OKActions"], []any{topic},
		) {
			t.Errorf("%s tells %v, and %v when it is over", id, alarm.Properties["AlarmActions"], alarm.Properties["OKActions"])
		}
	}
}

// TestTheDashboardShowsEveryMetric also checks that each series of a metric has a line.
func TestTheDashboardShowsEveryMetric(t *testing.T) {
	template := synthesizeWith(t, map[string]any{
		"clusters": "prod", "functions": builtFunctions(t), "metrics": "full",
	})
	for _, dashboard := range template.ofType("AWS::CloudWatch::Dashboard") {
		if dashboard.Properties["DashboardName"] != "whittle-prod" {
			t.Errorf("it is named %v", dashboard.Properties["DashboardName"])
		}
		body := ""
		for _, part := range dashboard.Properties["DashboardBody"].(map[string]any)["Fn::Join"].([]any)[1].([]any) {
			if text, ok := part.(string); ok {
				body += text
			} else {
				body += "x" // a reference
			}
		}
		for _, part := range []string{
			"filter msg = 'counted nodes' | stats max(spot)", "filter msg = 'counted nodes' | stats avg(price)",
		} {
			if !strings.Contains(body, part) {
				t.Errorf("lacks %s", part)
			}
		}
		for _, metric := range metrics.All() {
			if slices.Contains([]metrics.Name{metrics.Nodes, metrics.DollarsPerHour, metrics.SavedDollars}, metric.Name) {
				continue // lines of the log have them too
			}
			if !strings.Contains(body, fmt.Sprintf(`"Whittle","%s","Cluster","prod"`, metric.Name)) {
				t.Errorf("%s is not shown", metric.Name)
			}
			for _, of := range metric.Series {
				if !strings.Contains(body, fmt.Sprintf(`"%s","Cluster","prod","%s","%s"`, metric.Name, metric.Dimension, of)) {
					t.Errorf("%s of %s is not shown", metric.Name, of)
				}
			}
		}
		for _, part := range []string{"Dead letters", "SOURCE '/aws/lambda/whittle-prod-provision'"} {
			if !strings.Contains(body, part) {
				t.Errorf("lacks %s", part)
			}
		}
	}
	if len(template.ofType("AWS::CloudWatch::Dashboard")) != 1 {
		t.Error("there is not one dashboard")
	}
}

// TestMonitoringCanBeLess deploys with each detail of metrics, and without alarms and dashboard.
func TestMonitoringCanBeLess(t *testing.T) {
	for _, test := range []struct {
		settings  map[string]any
		alarms    int
		variable  string // METRICS of provision
		shown     []string
		notShown  []string
		dashboard int
	}{
		{
			nil, 11, "",
			[]string{
				"OldestPodPendingSeconds", "avg(price)", `"type":"alarm"`, "Pending pods, at each plan", "max(unplaced)",
				"Launches and ends of nodes", "Disruptions and interruptions of nodes", "Launches that EC2 refused",
				"Pods that wait for 5 minutes", "Catalogue older than 12 hours",
			},
			[]string{"LaunchSeconds", "Launches, and", "Oldest pending pod"}, 1,
		},
		{
			map[string]any{"metrics": "full"}, 11, "full",
			[]string{"LaunchSeconds", "avg(price)", `"title":"Pending pods"`, "Launches, and launches that EC2 refused"},
			[]string{"at each plan", "max(unplaced)"}, 1,
		},
		{
			// The metrics of failures are there with every detail: an alarm without them would be silent.
			map[string]any{"metrics": "off"}, 7, "off", []string{"Function errors", "Dead letters", "FailedMessages"},
			[]string{`"Whittle","OldestPod`, `"Whittle","PodsPending`, "Pods that wait"}, 1,
		},
		{map[string]any{"alarms": "false"}, 0, "", []string{"Nodes"}, []string{`"type":"alarm"`}, 1},
		{map[string]any{"dashboard": "false"}, 11, "", nil, nil, 0},
	} {
		context := map[string]any{"clusters": "prod", "functions": builtFunctions(t)}
		maps.Copy(context, test.settings)
		template := synthesizeWith(t, context)
		if n := len(template.ofType("AWS::CloudWatch::Alarm")); n != test.alarms {
			t.Errorf("%v: %d alarms, want %d", test.settings, n, test.alarms)
		}
		_, provision := template.function(t, "whittle-prod-provision")
		variables := provision.Properties["Environment"].(map[string]any)["Variables"].(map[string]any)
		if got, _ := variables["METRICS"].(string); got != test.variable {
			t.Errorf("%v: METRICS is %q, want %q", test.settings, got, test.variable)
		}
		dashboards := template.ofType("AWS::CloudWatch::Dashboard")
		if len(dashboards) != test.dashboard {
			t.Errorf("%v: %d dashboards", test.settings, len(dashboards))
		}
		for _, dashboard := range dashboards {
			body := strings.ReplaceAll(encoded(t, dashboard.Properties["DashboardBody"]), `\"`, `"`)
			for _, part := range test.shown {
				if !strings.Contains(body, part) {
					t.Errorf("%v: the dashboard lacks %s", test.settings, part)
				}
			}
			for _, part := range test.notShown {
				if strings.Contains(body, part) {
					t.Errorf("%v: the dashboard has %s", test.settings, part)
				}
			}
		}
	}
}

// TestTheDashboardBeginsWithWhatNeedsALook reads the first widgets from top to bottom. The graphs of what
// happened at a time come from logs, and before those of metrics.
func TestTheDashboardBeginsWithWhatNeedsALook(t *testing.T) {
	body := encoded(t, synthesize(t, "prod").ofType("AWS::CloudWatch::Dashboard"))
	before := -1
	for _, kind := range []string{`\"alarm\"`, `\"text\"`, `\"custom\"`, `\"log\"`, `\"metric\"`} {
		at := strings.Index(body, `\"type\":`+kind)
		if at < before {
			t.Errorf("%s comes too early: %d after %d", kind, at, before)
		}
		before = at
	}
}

func TestQueriesAreSavedForTheFunctionsLogs(t *testing.T) {
	for id, saved := range synthesize(t, "prod").ofType("AWS::Logs::QueryDefinition") {
		groups := saved.Properties["LogGroupNames"].([]any)
		if len(groups) != 9 || !strings.HasPrefix(saved.Properties["Name"].(string), "whittle-prod/") {
			t.Errorf("%s: %v", id, saved.Properties)
		}
	}
}

// TestTheCostTableIsThatOfTheStack also counts what the alarms of the template evaluate.
func TestTheCostTableIsThatOfTheStack(t *testing.T) {
	const begin = "<!-- cost: written by `go test ./infra -run Cost -update` -->\n"
	checkTable(t, "README.md", begin, "<!-- end of cost -->", costTable())
	checkTable(t, "../README.md", "for the rest of a tick of 10 s |\n", "\n![nodes with prices", frontPage())
	for _, detail := range []metrics.Detail{metrics.DetailFew, metrics.DetailOff} {
		counted := 0
		for _, alarm := range synthesizeWith(t, map[string]any{
			"clusters": "prod", "functions": builtFunctions(t), "metrics": string(detail),
		}).ofType("AWS::CloudWatch::Alarm") {
			queries, several := alarm.Properties["Metrics"].([]any)
			if !several {
				counted++
				continue
			}
			counted += len(queries) - 1 // one is the sum
		}
		if want := evaluations(detail); counted != want {
			t.Errorf("metrics %s: the alarms evaluate %d metrics, the table has %d", detail, counted, want)
		}
	}
}
