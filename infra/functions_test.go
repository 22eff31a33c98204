package infra

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestFunctions(t *testing.T) {
	watching := []string{"WATCH_FUNCTION", "REACTION", "QUIET_AFTER"}
	for _, test := range []struct {
		name            string
		memory, timeout float64
		environment     []string // beside CLUSTER_NAME
	}{
		{"ticker", 128, 30, []string{"TICK_INTERVAL", "PROVISION_QUEUE_URL", "LIFECYCLE_QUEUE_URL", "DISRUPT_QUEUE_URL"}},
		{"provision", 1536, 60, append([]string{"PROVISION_QUEUE_URL", "LIFECYCLE_QUEUE_URL"}, watching...)},
		{
			"interrupt", 1024, 10,
			[]string{"INTERRUPT_QUEUE_URL", "WARNINGS_QUEUE_URL", "PROVISION_QUEUE_URL", "LIFECYCLE_QUEUE_URL"},
		},
		{"lifecycle", 512, 60, append([]string{"PROVISION_QUEUE_URL", "LIFECYCLE_QUEUE_URL", "NODE_ROLE"}, watching...)},
		{"disrupt", 1536, 60, []string{"DISRUPT_QUEUE_URL", "LIFECYCLE_QUEUE_URL", "PROVISION_QUEUE_URL"}},
		{
			"watch", 128, 900,
			append([]string{"DISRUPT_QUEUE_URL", "LIFECYCLE_QUEUE_URL", "PROVISION_QUEUE_URL"}, watching...),
		},
		{"catalog", 512, 120, nil},
		{"install", 256, 300, []string{"ADMISSION", "CATALOG_FUNCTION"}},
		{"console", 1024, 30, []string{"HISTORY_LOG_GROUPS"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			template := synthesize(t, "prod")
			_, f := template.function(t, "whittle-prod-"+test.name)
			for property, want := range map[string]any{
				"Runtime": "provided.al2023", "Handler": "bootstrap", "Architectures": []any{"arm64"},
				"MemorySize": test.memory, "Timeout": test.timeout, "TracingConfig": nil,
			} {
				if got := f.Properties[property]; !reflect.DeepEqual(got, want) {
					t.Errorf("%s is %v, want %v", property, got, want)
				}
			}
			logging := f.Properties["LoggingConfig"].(map[string]any)
			// A line for each start and end of an invocation would be most of an idle cluster's
			// log.
			if logging["LogFormat"] != "JSON" || logging["SystemLogLevel"] != "WARN" {
				t.Errorf("log format %v, level of Lambda's own lines %v", logging["LogFormat"], logging["SystemLogLevel"])
			}
			group := template.Resources[references(logging["LogGroup"])[0]]
			if got, want := group.Properties["LogGroupName"], "/aws/lambda/whittle-prod-"+test.name; got != want {
				t.Errorf("log group %v, want %v", got, want)
			}
			if group.Properties["RetentionInDays"] == nil {
				t.Error("the log is kept for ever")
			}
			variables := f.Properties["Environment"].(map[string]any)["Variables"].(map[string]any)
			got := slices.Sorted(maps.Keys(variables))
			want := slices.Sorted(slices.Values(append(test.environment, "CLUSTER_NAME")))
			if !slices.Equal(got, want) {
				t.Errorf("environment %v, want %v", got, want)
			}
			if variables["CLUSTER_NAME"] != "prod" {
				t.Errorf("CLUSTER_NAME is %v", variables["CLUSTER_NAME"])
			}
			for key, value := range variables {
				queue, ok := strings.CutSuffix(key, "_QUEUE_URL")
				if !ok {
					continue
				}
				target := template.Resources[references(value)[0]]
				if got, want := target.Properties["QueueName"], "whittle-prod-"+strings.ToLower(queue); got != want {
					t.Errorf("%s is the URL of %v", key, got)
				}
			}
		})
	}
}

// TestFunctionsMaySendWhereTheyAreTold compares the queue URLs in a function's environment with the
// rights of its role.
func TestFunctionsMaySendWhereTheyAreTold(t *testing.T) {
	template := synthesize(t, "prod")
	for _, name := range functionNames() {
		_, f := template.function(t, "whittle-prod-"+name)
		_, role := functionRole(t, template, name)
		var allowed []string
		for _, s := range statements(t, role) {
			// Interrupt sets when its own messages come back, and sends none there.
			if slices.Contains(s.actions, "sqs:SendMessage") || slices.Contains(s.actions, "sqs:ChangeMessageVisibility") {
				allowed = append(allowed, references(any(s.resources))...)
			}
		}
		var told []string
		for key, value := range f.Properties["Environment"].(map[string]any)["Variables"].(map[string]any) {
			if strings.HasSuffix(key, "_QUEUE_URL") {
				told = append(told, references(value)...)
			}
		}
		slices.Sort(allowed)
		slices.Sort(told)
		if !slices.Equal(allowed, told) {
			t.Errorf("%s is told of the queues %v and may send to %v", name, told, allowed)
		}
	}
}

func TestContextReachesTheFunctions(t *testing.T) {
	template := synthesizeWith(t, map[string]any{
		"clusters": "prod", "architecture": "x86_64", "interval": "1m", "functions": builtFunctions(t),
	})
	_, ticker := template.function(t, "whittle-prod-ticker")
	if got := ticker.Properties["Architectures"]; !reflect.DeepEqual(got, []any{"x86_64"}) {
		t.Errorf("architectures %v", got)
	}
	variables := ticker.Properties["Environment"].(map[string]any)["Variables"].(map[string]any)
	if got := variables["TICK_INTERVAL"]; got != "1m0s" {
		t.Errorf("TICK_INTERVAL is %v", got)
	}
}

func TestKarpentersServiceAccountsReachTheFunctions(t *testing.T) {
	template := synthesizeWith(t, map[string]any{
		"clusters": "prod", "functions": builtFunctions(t), "karpenterServiceAccounts": "autoscaling/karpenter",
	})
	for _, name := range []string{"provision", "lifecycle", "disrupt", "interrupt", "console"} {
		_, f := template.function(t, "whittle-prod-"+name)
		variables := f.Properties["Environment"].(map[string]any)["Variables"].(map[string]any)
		if got := variables["KARPENTER_SERVICE_ACCOUNTS"]; got != "autoscaling/karpenter" {
			t.Errorf("%s has KARPENTER_SERVICE_ACCOUNTS %v", name, got)
		}
	}
}

// TestFunctionsThatWakeThemselvesMayRecur holds that Lambda ends no chain of messages. The functions
// end them.
func TestFunctionsThatWakeThemselvesMayRecur(t *testing.T) {
	template := synthesize(t, "prod")
	for _, name := range functionNames() {
		_, f := template.function(t, "whittle-prod-"+name)
		may, _ := f.Properties["RecursiveLoop"].(map[string]any)
		if !slices.Contains([]string{"provision", "lifecycle", "disrupt", "watch"}, name) {
			if f.Properties["RecursiveLoop"] != nil {
				t.Errorf("%s: RecursiveLoop is %v, want none", name, f.Properties["RecursiveLoop"])
			}
			continue
		}
		// Regions whose Lambda lacks the setting refuse it.
		choice, _ := may["Fn::If"].([]any)
		if len(choice) != 3 || choice[1] != "Allow" || !reflect.DeepEqual(choice[2], map[string]any{"Ref": "AWS::NoValue"}) {
			t.Errorf("%s: RecursiveLoop is %v, want Allow where Lambda has the setting", name, f.Properties["RecursiveLoop"])
		}
	}
}

func TestEachFunctionHasItsOwnCode(t *testing.T) {
	keys := map[any]string{}
	for id, f := range synthesize(t, "prod").ofType("AWS::Lambda::Function") {
		key := f.Properties["Code"].(map[string]any)["S3Key"]
		if other, ok := keys[key]; ok {
			t.Errorf("%s and %s have the same code", id, other)
		}
		keys[key] = id
	}
}

func TestWhatNodesKeepIsCatalogsSettings(t *testing.T) {
	template := synthesizeWith(
		t,
		map[string]any{
			"clusters": "prod", "functions": builtFunctions(t), "reservedENIs": "1", "vmMemoryOverheadPercent": 0.05,
		},
	)
	_, f := template.function(t, "whittle-prod-catalog")
	variables := f.Properties["Environment"].(map[string]any)["Variables"].(map[string]any)
	if variables["RESERVED_ENIS"] != "1" || variables["VM_MEMORY_OVERHEAD_PERCENT"] != "0.05" {
		t.Errorf("environment %v", variables)
	}
}

func TestPoliciesAreProvisionsSettings(t *testing.T) {
	template := synthesizeWith(
		t,
		map[string]any{
			"clusters": "prod", "functions": builtFunctions(t), "preferencePolicy": "Ignore", "minValuesPolicy": "BestEffort",
			"disableDryRun": "true",
		},
	)
	_, f := template.function(t, "whittle-prod-provision")
	variables := f.Properties["Environment"].(map[string]any)["Variables"].(map[string]any)
	if variables["PREFERENCE_POLICY"] != "Ignore" || variables["MIN_VALUES_POLICY"] != "BestEffort" ||
		variables["DISABLE_DRY_RUN"] != "true" {
		t.Errorf("environment %v", variables)
	}
}

func TestDefaultSpreadIsASettingOfProvisionAndDisrupt(t *testing.T) {
	for _, test := range []struct{ given, want any }{
		{nil, nil}, {"[]", nil}, {[]any{}, nil},
		{
			[]any{map[string]any{
				"maxSkew": 1.0, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway",
			}},
			`[{"maxSkew":1,"topologyKey":"topology.kubernetes.io/zone","whenUnsatisfiable":"ScheduleAnyway"}]`,
		},
	} {
		settings := map[string]any{"clusters": "prod", "functions": builtFunctions(t)}
		if test.given != nil {
			settings["defaultTopologySpread"] = test.given
		}
		template := synthesizeWith(t, settings)
		for _, name := range []string{"provision", "disrupt"} {
			_, f := template.function(t, "whittle-prod-"+name)
			variables := f.Properties["Environment"].(map[string]any)["Variables"].(map[string]any)
			if got := variables["DEFAULT_TOPOLOGY_SPREAD"]; got != test.want {
				t.Errorf("%s with %v: %v, want %v", name, test.given, got, test.want)
			}
		}
	}
}

func TestExpressionsAreASettingOfProvisionAndLifecycle(t *testing.T) {
	for _, test := range []struct{ given, want any }{{nil, nil}, {"false", "false"}, {"true", "true"}} {
		settings := map[string]any{"clusters": "prod", "functions": builtFunctions(t)}
		if test.given != nil {
			settings["nodeClassCEL"] = test.given
		}
		template := synthesizeWith(t, settings)
		for _, name := range []string{"provision", "lifecycle"} {
			_, f := template.function(t, "whittle-prod-"+name)
			variables := f.Properties["Environment"].(map[string]any)["Variables"].(map[string]any)
			if got := variables["NODE_CLASS_CEL"]; got != test.want {
				t.Errorf("%s with nodeClassCEL %v: %v", name, test.given, got)
			}
		}
	}
}

func TestImageParametersCanBeRead(t *testing.T) {
	template := synthesizeWith(
		t, map[string]any{"clusters": "prod", "functions": builtFunctions(t), "imageParameters": "/images/*, /golden/amd64"},
	)
	for _, name := range []string{"provision", "lifecycle"} {
		_, role := functionRole(t, template, name)
		for _, s := range statements(t, role) {
			if !slices.Contains(s.actions, "ssm:GetParameters") {
				continue
			}
			for _, part := range []string{"::parameter/aws/service/*", ":parameter/images/*", ":parameter/golden/amd64"} {
				if len(s.resources) != 3 || !namesResource(t, s.resources, part) {
					t.Errorf("%s: parameters %v, want %s among them", name, s.resources, part)
				}
			}
		}
	}
}
