package infra

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// rulesFor returns the rules whose pattern has the detail-type.
func (t template) rulesFor(detailType string) []resource {
	var found []resource
	for _, one := range t.ofType("AWS::Events::Rule") {
		pattern, err := json.Marshal(one.Properties["EventPattern"])
		if err == nil && strings.Contains(string(pattern), `"`+detailType+`"`) {
			found = append(found, one)
		}
	}
	return found
}

// TestFreezeAlarms holds that a rule, a right and a variable exist with the setting alone, and not in a dry run.
func TestFreezeAlarms(t *testing.T) {
	const arn = "arn:aws:cloudwatch:us-east-1:123456789012:alarm:errors"
	for name, test := range map[string]struct {
		settings map[string]any
		on       bool
	}{
		"without": {map[string]any{"freezeOnInsufficientData": true}, false},
		"with":    {map[string]any{"freezeAlarms": arn + ",latency=nodepool/batch", "freezeOnInsufficientData": true}, true},
		"dry run": {map[string]any{"freezeAlarms": "errors", "dryRun": true}, false},
	} {
		made := chosen(t, test.settings)
		rules := made.rulesFor("CloudWatch Alarm State Change")
		if (len(rules) == 1) != test.on {
			t.Fatalf("%s: there are %d rules", name, len(rules))
		}
		for _, function := range functionNames() {
			_, f := made.function(t, "whittle-prod-"+function)
			variables := f.Properties["Environment"].(map[string]any)["Variables"].(map[string]any)
			_, role := functionRole(t, made, function)
			may := slices.ContainsFunc(statements(t, role), func(s statement) bool {
				return slices.Contains(s.actions, "cloudwatch:DescribeAlarms")
			})
			reads := test.on && (function == "provision" || function == "install")
			told, _ := variables["FREEZE_ALARMS"].(string)
			if may != reads || (told != "") != reads ||
				reads && told != `["`+arn+`=all","latency=nodepool/batch"]` {
				t.Errorf("%s: %s may read alarms: %t, and is told %q", name, function, may, told)
			}
			_, counts := variables["FREEZE_ON_INSUFFICIENT_DATA"]
			if counts != (test.on && function == "provision") {
				t.Errorf("%s: %s counts insufficient data: %t", name, function, counts)
			}
		}
		if !test.on {
			continue
		}
		rule := encoded(t, rules[0].Properties)
		if !strings.Contains(rule, `"alarmName":["errors","latency"]`) || !strings.Contains(rule, `\"reason\":\"alarm\"`) ||
			!strings.Contains(rule, "Provision") {
			t.Errorf("the rule is %s", rule)
		}
	}
}

func TestWrongFreezeAlarms(t *testing.T) {
	const at = "arn:aws:cloudwatch:us-east-1:123456789012:alarm:"
	for value, want := range map[string]string{
		"errors=batch":                "is no scope: write all, nodepool/NAME or ec2nodeclass/NAME",
		"arn:aws:sns:us-east-1:1:x":   "is no ARN of a CloudWatch alarm",
		"${Token[TOKEN.1]}":           "known at the deployment only",
		strings.Repeat("errors,", 21): "21 alarms are too many: name 20 at most, or a composite alarm",
		at + "a," + strings.Replace(at, "us-east-1", "eu-west-1", 1) + "b":       "different accounts or regions",
		at + "a," + strings.Replace(at, "123456789012", "210987654321", 1) + "b": "different accounts or regions",
		strings.Repeat(strings.Repeat("x", 200)+",", 8):                          "name a composite alarm",
	} {
		if _, err := freezeAlarms(value); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %s", value, err, want)
		}
	}
	watched, err := freezeAlarms([]any{at + "a, b", "c"})
	if err != nil || len(watched) != 2 || watched[0].Name != "a, b" {
		t.Errorf("a list of the file is %+v, %v", watched, err)
	}
	for place, want := range map[[2]string]bool{
		{"", ""}: true, {"123456789012", "us-east-1"}: true, {"", "us-east-1"}: true,
		{"123456789012", "eu-west-1"}: false, {"210987654321", ""}: false,
	} {
		err := checkPlace(watched, place[0], place[1])
		if (err == nil) != want || err != nil && !strings.Contains(err.Error(), "another account or region cannot be read") {
			t.Errorf("a deployment to %q: %v", place, err)
		}
	}
}

// TestAForeignAlarmFailsTheSynthesis holds where the stack of the construct names its account.
func TestAForeignAlarmFailsTheSynthesis(t *testing.T) {
	stack := awscdk.NewStack(awscdk.NewApp(nil), jsii.String("own"), &awscdk.StackProps{
		Env: &awscdk.Environment{Account: jsii.String("123456789012"), Region: jsii.String("eu-west-1")},
	})
	built := builtFunctions(t)
	_, err := newWhittle(stack, "whittle", &WhittleProps{
		ClusterName: jsii.String("prod"), Functions: &built,
		FreezeAlarms: jsii.PtrSlice("arn:aws:cloudwatch:us-east-1:123456789012:alarm:errors"),
	})
	if err == nil || !strings.Contains(err.Error(), "freezeAlarms: an alarm of another account or region") {
		t.Errorf("%v", err)
	}
}

// TestFreezeEvents holds that a rule reads the bus of the setting, and sends to interrupt's urgent queue.
func TestFreezeEvents(t *testing.T) {
	for _, bus := range []string{"", "operations"} {
		settings := map[string]any{}
		if bus != "" {
			settings["freezeEvents"] = bus
		}
		rules := chosen(t, settings).rulesFor("whittle.freeze")
		if (len(rules) == 1) != (bus != "") {
			t.Fatalf("%q has %d rules", bus, len(rules))
		}
		if bus == "" {
			continue
		}
		if rule := encoded(t, rules[0].Properties); rules[0].Properties["EventBusName"] != bus ||
			!strings.Contains(rule, "whittle.thaw") || !strings.Contains(rule, "Warnings") {
			t.Errorf("the rule is %s", rule)
		}
	}
	if _, err := busName("arn:aws:events:us-east-1:111122223333:event-bus/shared"); err == nil {
		t.Error("a bus of another account is accepted")
	}
}

// TestTaggedFreezeAlarms holds that tags need one more right, and a rule for all alarms.
func TestTaggedFreezeAlarms(t *testing.T) {
	made := chosen(t, map[string]any{"freezeTaggedAlarms": true})
	rules := made.rulesFor("CloudWatch Alarm State Change")
	if len(rules) != 1 || strings.Contains(encoded(t, rules[0].Properties["EventPattern"]), "alarmName") {
		t.Errorf("the rules are %s", encoded(t, rules))
	}
	for _, function := range functionNames() {
		_, f := made.function(t, "whittle-prod-"+function)
		variables := f.Properties["Environment"].(map[string]any)["Variables"].(map[string]any)
		_, role := functionRole(t, made, function)
		may := slices.ContainsFunc(statements(t, role), func(s statement) bool {
			return slices.Contains(s.actions, "tag:GetResources") && slices.Contains(s.actions, "cloudwatch:DescribeAlarms")
		})
		reads := function == "provision" || function == "install"
		if may != reads || (variables["FREEZE_TAGGED_ALARMS"] == "true") != reads || variables["FREEZE_ALARMS"] != nil {
			t.Errorf("%s may read tags: %t, and has %v", function, may, variables)
		}
	}
}
