package infra

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/jsii-runtime-go"

	"github.com/whittle-dev/whittle/infra/cfntemplate"
)

func TestMain(m *testing.M) {
	code := m.Run()
	jsii.Close()
	os.Exit(code)
}

// resource is a resource of a synthesized template.
type resource struct {
	Type           string
	Properties     map[string]any
	DependsOn      any
	DeletionPolicy string
}

// dependsOn reports whether r's DependsOn names the logical id.
func (r resource) dependsOn(id string) bool {
	switch d := r.DependsOn.(type) {
	case string:
		return d == id
	case []any:
		return slices.Contains(d, any(id))
	}
	return false
}

// template is a synthesized template.
type template struct {
	Parameters map[string]any
	Resources  map[string]resource
	Outputs    map[string]struct {
		Description string
		Value       any
	}
	text []byte // as it was synthesized
}

// ofType returns the resources of a type by logical id.
func (t template) ofType(name string) map[string]resource {
	found := map[string]resource{}
	for id, r := range t.Resources {
		if r.Type == name {
			found[id] = r
		}
	}
	return found
}

// function returns a cluster's function by its physical name, with its logical id.
func (t template) function(tb testing.TB, physicalName string) (string, resource) {
	tb.Helper()
	for id, r := range t.ofType("AWS::Lambda::Function") {
		if r.Properties["FunctionName"] == physicalName {
			return id, r
		}
	}
	tb.Fatalf("no function is named %s", physicalName)
	return "", resource{}
}

// synthesized are the texts of templates with default settings, by their cluster.
var synthesized = map[string][]byte{}

// synthesize returns the template for the cluster with default settings. Most tests want the same
// one, which takes a second to make.
func synthesize(t *testing.T, cluster string) template {
	t.Helper()
	if synthesized[cluster] == nil {
		synthesized[cluster] = synthesizeWith(t, map[string]any{"clusters": cluster, "functions": builtFunctions(t)}).text
	}
	return parse(t, synthesized[cluster])
}

// synthesizeWith returns the template of one cluster for a context, with the feature flags of cdk.json.
func synthesizeWith(t *testing.T, context map[string]any) template {
	t.Helper()
	templates := synthesizeAll(t, context)
	if len(templates) != 1 {
		t.Fatalf("%d stacks, want that of one cluster", len(templates))
	}
	for _, one := range templates {
		return one
	}
	return template{}
}

// synthesizeAll returns the templates of all clusters by the names of their stacks.
func synthesizeAll(t *testing.T, context map[string]any) map[string]template {
	t.Helper()
	var settings struct{ Context map[string]any }
	decodeFile(t, filepath.Join("..", "cdk.json"), &settings)
	configuration, err := readConfiguration(func(key string) any { return context[key] })
	if err != nil {
		t.Fatal(err)
	}
	app := awscdk.NewApp(&awscdk.AppProps{
		AnalyticsReporting: jsii.Bool(false),
		Outdir:             jsii.String(t.TempDir()),
		Context:            &settings.Context,
	})
	templates := map[string]template{}
	stacks, err := newStacks(app, configuration)
	if err != nil {
		t.Fatal(err)
	}
	for _, stack := range stacks {
		encoded, err := json.Marshal(assertions.Template_FromStack(stack, nil).ToJSON())
		if err != nil {
			t.Fatal(err)
		}
		templates[*stack.StackName()] = parse(t, encoded)
	}
	return templates
}

func parse(t *testing.T, text []byte) template {
	t.Helper()
	result := template{text: text}
	if err := json.Unmarshal(text, &result); err != nil {
		t.Fatal(err)
	}
	return result
}

// builtFunctions returns a folder like that of a build. Each function is a script.
func builtFunctions(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range functionNames() {
		writeBootstrap(t, folder, name, "#!/bin/sh\n# "+name+"\n", 0o755)
	}
	return folder
}

func writeBootstrap(t *testing.T, folder, name, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(folder, name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name, "bootstrap"), []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

func decodeFile(t *testing.T, path string, into any) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// references returns the logical ids that a value names in Ref and Fn::GetAtt.
func references(value any) []string {
	var found []string
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			found = append(found, references(item)...)
		}
	case map[string]any:
		for key, item := range v {
			switch key {
			case "Ref":
				found = append(found, item.(string))
			case "Fn::GetAtt":
				found = append(found, item.([]any)[0].(string))
			default:
				found = append(found, references(item)...)
			}
		}
	}
	return found
}

// attribute returns the reference to an attribute of a resource.
func attribute(id, name string) any {
	return map[string]any{"Fn::GetAtt": []any{id, name}}
}

func TestStackIsTheSameForEveryAccount(t *testing.T) {
	got := synthesize(t, "prod")
	if len(got.Parameters) != 0 {
		t.Errorf("the template has parameters: %v", got.Parameters)
	}
	for id, r := range got.Resources {
		for _, reference := range references(r.Properties) {
			if _, ok := got.Resources[reference]; !ok && !strings.HasPrefix(reference, "AWS::") {
				t.Errorf("%s refers to %s, which the template does not have", id, reference)
			}
		}
	}
}

func TestStackFitsCloudFormation(t *testing.T) {
	const key = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
	got := synthesizeWith(t, map[string]any{
		"clusters": strings.Repeat("n", cfntemplate.MaximumCluster), "functions": builtFunctions(t), "windowsNodes": "true",
		"subnets": "subnet-0a1b2c3d", "securityGroups": "sg-0a1b2c3d,sg-0a1b2c3e", "clusterSecurityGroup": "sg-4e5f6a7b",
		"kmsKey": key, "volumeKeys": key, "metrics": "full",
	})
	if len(got.Resources) > 500 {
		t.Errorf("a cluster takes %d resources, CloudFormation allows 500", len(got.Resources))
	}
	if len(got.text) > 1_000_000 {
		t.Errorf("a cluster takes %d bytes, CloudFormation allows 1 MB", len(got.text))
	}
}

// TestClustersShareNothing checks that a deployment with fewer clusters, or others, changes no stack.
func TestClustersShareNothing(t *testing.T) {
	folder := builtFunctions(t)
	both := synthesizeAll(t, map[string]any{"clusters": "blue,green", "functions": folder})
	if names := slices.Sorted(maps.Keys(both)); !slices.Equal(names, []string{"Whittle-blue", "Whittle-green"}) {
		t.Fatalf("stacks %v", names)
	}
	alone := synthesizeWith(t, map[string]any{"clusters": "blue", "functions": folder})
	if string(alone.text) != string(both["Whittle-blue"].text) {
		t.Error("a second cluster changes the first one's stack")
	}
	if text := string(alone.text); strings.Contains(text, "green") {
		t.Error("the stack of the cluster blue names the cluster green")
	}
	if len(alone.Resources) != len(both["Whittle-green"].Resources) || len(alone.Resources) == 0 {
		t.Errorf("%d and %d resources, want as many of each", len(alone.Resources), len(both["Whittle-green"].Resources))
	}
}

func TestStackNames(t *testing.T) {
	allowed := regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{0,127}$`)
	seen := map[string]string{}
	for _, cluster := range []string{
		"prod", "a_b", "a-b", "A_b", "a__b", "0", strings.Repeat("_", cfntemplate.MaximumCluster), strings.Repeat("n", cfntemplate.MaximumCluster),
	} {
		name := stackName(cluster)
		if !allowed.MatchString(name) {
			t.Errorf("%s: CloudFormation refuses the name %q of a stack", cluster, name)
		}
		if other, ok := seen[name]; ok {
			t.Errorf("the clusters %s and %s have one stack, %s", cluster, other, name)
		}
		seen[name] = cluster
	}
}

// TestTheStackIsProtected checks that CloudFormation refuses to delete a stack by mistake.
func TestTheStackIsProtected(t *testing.T) {
	for value, want := range map[string]bool{"": true, "true": true, "false": false} {
		configuration, err := readConfiguration(func(key string) any {
			return map[string]any{"clusters": "prod", "functions": builtFunctions(t), "terminationProtection": value}[key]
		})
		if err != nil {
			t.Fatal(err)
		}
		app := awscdk.NewApp(&awscdk.AppProps{AnalyticsReporting: jsii.Bool(false), Outdir: jsii.String(t.TempDir())})
		stacks, err := newStacks(app, configuration)
		if err != nil {
			t.Fatal(err)
		}
		if got := stacks[0].TerminationProtection(); got == nil || *got != want {
			t.Errorf("terminationProtection=%s: %v, want %v", value, got, want)
		}
	}
}

func TestPhysicalPrefix(t *testing.T) {
	long := strings.Repeat("a", cfntemplate.MaximumCluster)
	seen := map[string]string{}
	for _, name := range []string{
		"prod", "Prod", "p", long, long[1:] + "b", long[1:] + "c", strings.Repeat("a", 46), strings.Repeat("a", 47),
	} {
		prefix := physicalPrefix(name)
		if other, ok := seen[prefix]; ok {
			t.Errorf("%q and %q both have the prefix %q", name, other, prefix)
		}
		seen[prefix] = name
		for _, function := range functionNames() {
			if full := prefix + "-" + function; len(full) > 64 {
				t.Errorf("%s has %d characters, Lambda allows 64", full, len(full))
			}
		}
	}
	if got := physicalPrefix("prod"); got != "whittle-prod" {
		t.Errorf("prefix %q, want whittle-prod", got)
	}
}

func TestResourceTypes(t *testing.T) {
	want := map[string]int{
		"AWS::CloudWatch::Alarm":          11,
		"AWS::CloudWatch::Dashboard":      1,
		"AWS::EKS::AccessEntry":           9,
		"AWS::Events::Rule":               8,
		"AWS::IAM::InstanceProfile":       1,
		"AWS::IAM::Role":                  12,
		"AWS::Lambda::EventInvokeConfig":  1,
		"AWS::Lambda::EventSourceMapping": 5,
		"AWS::Lambda::Function":           9,
		"AWS::Logs::LogGroup":             9,
		"AWS::Logs::QueryDefinition":      7,
		"AWS::SQS::Queue":                 7,
		"AWS::SQS::QueuePolicy":           7,
		"AWS::Scheduler::Schedule":        2,
		"Custom::WhittleDelivery":         1,
		"Custom::WhittleInstall":          1,
	}
	got := map[string]int{}
	for _, r := range synthesize(t, "prod").Resources {
		got[r.Type]++
	}
	if !maps.Equal(got, want) {
		t.Errorf("resource types %v\nwant %v", got, want)
	}
}

func TestOutputs(t *testing.T) {
	got := synthesize(t, "prod")
	for prefix, kind := range map[string]string{
		"prodNodeRoleName":            "AWS::IAM::Role",
		"prodNodeInstanceProfileName": "AWS::IAM::InstanceProfile",
	} {
		found := false
		for id, output := range got.Outputs {
			if !strings.HasPrefix(id, prefix) {
				continue
			}
			found = true
			target := references(output.Value)
			if len(target) != 1 || got.Resources[target[0]].Type != kind {
				t.Errorf("output %s is %v, want a reference to a %s", id, output.Value, kind)
			}
		}
		if !found {
			t.Errorf("no output begins with %s", prefix)
		}
	}
}
