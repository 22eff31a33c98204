package infra

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/jsii-runtime-go"
)

// TestEachSettingHasAProperty compares the settings with the properties, in both directions.
func TestEachSettingHasAProperty(t *testing.T) {
	known := map[string]bool{"ClusterName": true}
	own, shared := settingKeys()
	for _, key := range append(own, shared...) {
		if key != "clusters" && !stackOnly(key) {
			known[propName(key)] = true
		}
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[WhittleProps]()) {
		if !known[field.Name] {
			t.Errorf("WhittleProps.%s is no setting", field.Name)
		}
		delete(known, field.Name)
	}
	for name := range known {
		t.Errorf("WhittleProps has no %s: add it beside its setting", name)
	}
}

// TestOneRoadUnderneath checks that the construct gets from its properties what the settings say.
func TestOneRoadUnderneath(t *testing.T) {
	built := builtFunctions(t)
	examples := map[string]string{}
	for _, s := range clusterSettings() {
		examples[s.key] = s.example
	}
	for _, row := range append(coveringRows(examples), map[string]bool{}) {
		given := map[string]any{"clusters": "prod", "functions": built, "architecture": "arm64"}
		for key := range row {
			given[key] = examples[key]
		}
		read, err := readConfiguration(func(key string) any { return given[key] })
		if err != nil {
			t.Fatal(err)
		}
		stack, one, err := configure(read.installations[0])
		if err != nil {
			t.Fatal(err)
		}
		// This one is the stack's, which is not the construct's.
		one.terminationProtection = read.clusters[0].terminationProtection
		if !reflect.DeepEqual(one, read.clusters[0]) {
			t.Errorf("%v:\nproperties %+v\nsettings   %+v", row, one, read.clusters[0])
		}
		if stack.functions != read.functions || stack.manifestHash != read.manifestHash {
			t.Errorf("the functions are %s (%s), want %s (%s)", stack.functions, stack.manifestHash, read.functions,
				read.manifestHash)
		}
	}
}

// everyProperty sets most properties, and settings sets the same by the context.
func everyProperty(functions string) *WhittleProps {
	return &WhittleProps{
		ClusterName: jsii.String("prod"), Functions: &functions, Architecture: ArchitectureArm64,
		Interval: awscdk.Duration_Seconds(jsii.Number(5)), Reaction: ReactionAlways,
		QuietAfter: awscdk.Duration_Minutes(jsii.Number(2)), Memory: &map[string]*float64{"provision": jsii.Number(2048)},
		LogRetention: jsii.Number(30), AlarmTopic: jsii.String("arn:aws:sns:us-east-1:123456789012:pages"),
		Metrics: MetricsFull, Dashboard: jsii.Bool(false), Subnets: jsii.Strings("subnet-0a1b2c3d"),
		SecurityGroups: jsii.Strings("sg-0a1b2c3d"), ClusterSecurityGroup: jsii.String("sg-4e5f6a7b"),
		NodeCNI: jsii.Bool(false), NodeSSM: jsii.Bool(true), WindowsNodes: jsii.Bool(true),
		AuthenticationMode: AuthenticationModeConfigMap, Admission: AdmissionDeny, AllowAutoMode: jsii.Bool(true),
		PermissionBoundary:       jsii.String("arn:aws:iam::123456789012:policy/boundary"),
		TerminateFirst:           jsii.Strings("Drifted"),
		NodePoolMetrics:          jsii.Strings("default", "gpu"),
		EventBus:                 jsii.String("default"),
		PreferencePolicy:         PreferencePolicyIgnore,
		MinValuesPolicy:          MinValuesPolicyBestEffort,
		NodeClassCEL:             jsii.Bool(true),
		KarpenterServiceAccounts: jsii.Strings("autoscaling/karpenter"),
		ImageParameters:          jsii.Strings("/images/*"),
		ReservedENIs:             jsii.Number(1), VmMemoryOverheadPercent: jsii.Number(0.05),
	}
}

// TestBothRoadsGiveTheSameTemplate compares the template of properties in Go with that of settings.
func TestBothRoadsGiveTheSameTemplate(t *testing.T) {
	built := builtFunctions(t)
	app := flagged(t)
	stack := newStack(app, nil, clusterDefaults("prod"))
	NewWhittle(stack, jsii.String("prod"), everyProperty(built))
	got := parse(t, []byte(encoded(t, assertions.Template_FromStack(stack, nil).ToJSON())))
	want := synthesizeWith(t, map[string]any{
		"clusters": "prod", "functions": built, "interval": "5s", "reaction": "always", "quietAfter": "2m",
		"memory": "provision=2048", "logRetention": "30", "alarmTopic": "arn:aws:sns:us-east-1:123456789012:pages",
		"metrics": "full", "dashboard": "false", "subnets": "subnet-0a1b2c3d", "securityGroups": "sg-0a1b2c3d",
		"clusterSecurityGroup": "sg-4e5f6a7b", "nodeCNI": "false", "nodeSSM": "true", "windowsNodes": "true",
		"authenticationMode": "CONFIG_MAP", "admission": "deny", "allowAutoMode": "true",
		"permissionBoundary": "arn:aws:iam::123456789012:policy/boundary", "terminateFirst": "Drifted",
		"nodePoolMetrics": "default,gpu",
		"eventBus":        "default", "preferencePolicy": "Ignore", "minValuesPolicy": "BestEffort", "nodeClassCEL": "true",
		"karpenterServiceAccounts": "autoscaling/karpenter", "imageParameters": "/images/*", "reservedENIs": "1",
		"vmMemoryOverheadPercent": "0.05",
	})
	for _, line := range differences("", plain(t, want.text), plain(t, got.text)) {
		t.Error(line)
	}
	if len(got.Resources) < 50 {
		t.Errorf("the template has %d resources", len(got.Resources))
	}
}

// flagged is an app with the feature flags of cdk.json.
func flagged(t *testing.T) awscdk.App {
	t.Helper()
	var settings struct{ Context map[string]any }
	decodeFile(t, "../cdk.json", &settings)
	return awscdk.NewApp(&awscdk.AppProps{
		AnalyticsReporting: jsii.Bool(false), Outdir: jsii.String(t.TempDir()), Context: &settings.Context,
	})
}

// TestConstructsInAStackOfOnesOwn has two clusters, a topic and a boundary of the app in one stack.
func TestConstructsInAStackOfOnesOwn(t *testing.T) {
	built := builtFunctions(t)
	app := flagged(t)
	stack := awscdk.NewStack(app, jsii.String("Platform"), &awscdk.StackProps{
		Env:                 &awscdk.Environment{Account: jsii.String("123456789012"), Region: jsii.String("eu-west-1")},
		PermissionsBoundary: awscdk.PermissionsBoundary_FromName(jsii.String("team")),
	})
	awscdk.Tags_Of(app).Add(jsii.String("team"), jsii.String("platform"), nil)
	topic := awssns.NewTopic(stack, jsii.String("Pages"), nil)
	first := NewWhittle(stack, jsii.String("Blue"), &WhittleProps{
		ClusterName: jsii.String("blue"), Functions: &built, AlarmTopic: topic.TopicArn(),
	})
	second := NewWhittle(stack, jsii.String("Green"), &WhittleProps{
		ClusterName: jsii.String("green"), Functions: &built, Alarms: jsii.Bool(false), Dashboard: jsii.Bool(false),
		PermissionBoundary: jsii.String("arn:aws:iam::123456789012:policy/own"),
	})
	awscdk.Tags_Of(second).Add(jsii.String("cluster"), jsii.String("green"), nil)

	if first.NodeRole() == nil || first.WindowsNodeRole() != nil || first.MapRoles() != nil {
		t.Errorf("roles %v and %v, lines %v", first.NodeRole(), first.WindowsNodeRole(), first.MapRoles())
	}
	if len(*first.AlarmArns()) < 5 || *first.DashboardName() != "whittle-blue" || *first.ClusterName() != "blue" {
		t.Errorf("%d alarms, dashboard %s", len(*first.AlarmArns()), *first.DashboardName())
	}
	if len(*second.AlarmArns()) != 0 || second.DashboardName() != nil {
		t.Errorf("alarms %v, dashboard %v", second.AlarmArns(), second.DashboardName())
	}
	made := parse(t, []byte(encoded(t, assertions.Template_FromStack(stack, nil).ToJSON())))
	for id, role := range made.ofType("AWS::IAM::Role") {
		boundary, want := encoded(t, role.Properties["PermissionsBoundary"]), "policy/team"
		if strings.HasPrefix(id, "Green") {
			want = "policy/own"
		}
		if !strings.Contains(boundary, want) {
			t.Errorf("%s has the boundary %s, want %s", id, boundary, want)
		}
		tags := encoded(t, role.Properties["Tags"])
		if !strings.Contains(tags, "platform") || strings.HasPrefix(id, "Green") != strings.Contains(tags, "green") {
			t.Errorf("%s has the tags %s", id, tags)
		}
	}
	for id, alarm := range made.ofType("AWS::CloudWatch::Alarm") {
		if !strings.Contains(encoded(t, alarm.Properties["AlarmActions"]), `{"Ref":"Pages`) {
			t.Errorf("%s calls %v", id, alarm.Properties["AlarmActions"])
		}
	}
	for _, name := range []string{"blue", "green"} {
		made.function(t, "whittle-"+name+"-provision")
	}
}

// TestNewWhittleNamesTheProperty checks errors about properties.
func TestNewWhittleNamesTheProperty(t *testing.T) {
	built := builtFunctions(t)
	app := awscdk.NewApp(&awscdk.AppProps{Outdir: jsii.String(t.TempDir())})
	stack := awscdk.NewStack(app, jsii.String("Platform"), nil)
	other := awssns.NewTopic(stack, jsii.String("Topic"), nil).TopicName()
	for name, test := range map[string]struct {
		change func(p *WhittleProps)
		want   []string
	}{
		"no cluster": {func(p *WhittleProps) { p.ClusterName = nil }, []string{"WhittleProps.ClusterName is missing"}},
		"a cluster's token": {func(p *WhittleProps) { p.ClusterName = other }, []string{
			"WhittleProps.ClusterName is known at the deployment only", "as text",
		}},
		"a cluster's ARN": {func(p *WhittleProps) { p.ClusterName = jsii.String("arn:aws:eks") }, []string{
			"WhittleProps.ClusterName: ", `"arn:aws:eks"`,
		}},
		"a bus's token": {func(p *WhittleProps) { p.EventBus = other }, []string{"WhittleProps.EventBus: ", "as text"}},
		"an interval": {func(p *WhittleProps) { p.Interval = awscdk.Duration_Seconds(jsii.Number(7)) }, []string{
			"WhittleProps.Interval: ", "7s", "an example is 10s",
		}},
		"a word": {func(p *WhittleProps) { p.Metrics = "some" }, []string{"WhittleProps.Metrics: ", `"some"`}},
		"memory": {func(p *WhittleProps) { p.Memory = &map[string]*float64{"planner": jsii.Number(512)} }, []string{
			"WhittleProps.Memory: ", `"planner" is no function`,
		}},
		"a list": {func(p *WhittleProps) { p.Subnets = jsii.Strings("private") }, []string{
			"WhittleProps.Subnets: ", `"private"`,
		}},
		"two properties": {func(p *WhittleProps) { p.Subnets = jsii.Strings("subnet-0a1b2c3d") }, []string{
			`WhittleProps of the cluster "prod": subnets without securityGroups`,
		}},
		"no functions": {func(p *WhittleProps) { p.Functions = nil }, []string{"WhittleProps.Release is missing"}},
		"no release": {func(p *WhittleProps) { p.Functions, p.Release = nil, jsii.String(t.TempDir()) }, []string{
			`WhittleProps of the cluster "prod": release: SHA256SUMS is not in`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			props := &WhittleProps{ClusterName: jsii.String("prod"), Functions: &built}
			test.change(props)
			defer func() {
				err, _ := recover().(error)
				if err == nil {
					t.Fatal("accepted")
				}
				for _, part := range test.want {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("%v: it lacks %q", err, part)
					}
				}
			}()
			NewWhittle(stack, jsii.String("prod"), props)
		})
	}
}

// TestDurationsAreRead compares the values of properties with those that settings have.
func TestDurationsAreRead(t *testing.T) {
	p := &WhittleProps{Interval: awscdk.Duration_Minutes(jsii.Number(1)), Subnets: jsii.Strings("a", "b")}
	if got := p.value("interval"); got != time.Minute.String() {
		t.Errorf("interval %v", got)
	}
	if got, _ := p.value("subnets").([]any); !slices.Equal(got, []any{"a", "b"}) {
		t.Errorf("subnets %v", got)
	}
	if got := p.value("dryRun"); got != nil {
		t.Errorf("dryRun %v", got)
	}
}
