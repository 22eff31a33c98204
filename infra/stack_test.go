package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/jsii-runtime-go"
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

// synthesized are the texts of templates with default settings, by their clusters.
var synthesized = map[string][]byte{}

// synthesize returns the template for the clusters with default settings. Most tests want the same
// one, which takes a second to make.
func synthesize(t *testing.T, clusters ...string) template {
	t.Helper()
	names := strings.Join(clusters, ",")
	if synthesized[names] == nil {
		synthesized[names] = synthesizeWith(t, map[string]any{"clusters": names, "functions": builtFunctions(t)}).text
	}
	return parse(t, synthesized[names])
}

// synthesizeWith returns the template for a context, with the feature flags of cdk.json.
func synthesizeWith(t *testing.T, context map[string]any) template {
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
	stack := newStack(app, configuration)
	encoded, err := json.Marshal(assertions.Template_FromStack(stack, nil).ToJSON())
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, encoded)
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
	var names []string
	for i := range maximumClusters {
		names = append(names, strings.Repeat("n", maximumClusterName-1)+string(rune('a'+i)))
	}
	got := synthesize(t, names...)
	if len(got.Resources) > 500 {
		t.Errorf("%d clusters take %d resources, CloudFormation allows 500", maximumClusters, len(got.Resources))
	}
	if len(got.text) > 1<<20 {
		t.Errorf("%d clusters take %d bytes, CloudFormation allows 1 MB", maximumClusters, len(got.text))
	}
	if left := 500 - len(got.Resources); left >= len(got.Resources)/maximumClusters {
		t.Errorf("%d clusters leave %d resources free, room for one more", maximumClusters, left)
	}
}

func TestClustersShareNothing(t *testing.T) {
	got := synthesize(t, "blue", "green")
	count := map[string]int{}
	for id, r := range got.Resources {
		own, other := "blue", "green"
		if strings.HasPrefix(id, "green") {
			own, other = other, own
		}
		if !strings.HasPrefix(id, own) {
			t.Errorf("%s belongs to no cluster", id)
			continue
		}
		count[own]++
		encoded, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(encoded), other) {
			t.Errorf("%s of the cluster %s names the cluster %s: %s", id, own, other, encoded)
		}
	}
	if count["blue"] != count["green"] || count["blue"] == 0 {
		t.Errorf("resources by cluster: %v, want as many of each", count)
	}
	alone := synthesize(t, "blue")
	for id := range alone.Resources {
		if _, ok := got.Resources[id]; !ok {
			t.Errorf("a second cluster changes the logical id %s, so the first one's resource would be replaced", id)
		}
	}
}

func TestPhysicalPrefix(t *testing.T) {
	long := strings.Repeat("a", maximumClusterName)
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
		"AWS::CloudWatch::Alarm":          7,
		"AWS::CloudWatch::Dashboard":      1,
		"AWS::EKS::AccessEntry":           9,
		"AWS::Events::Rule":               7,
		"AWS::IAM::InstanceProfile":       1,
		"AWS::IAM::Role":                  12,
		"AWS::Lambda::EventInvokeConfig":  1,
		"AWS::Lambda::EventSourceMapping": 4,
		"AWS::Lambda::Function":           9,
		"AWS::Logs::LogGroup":             9,
		"AWS::Logs::QueryDefinition":      3,
		"AWS::SQS::Queue":                 8,
		"AWS::SQS::QueuePolicy":           8,
		"AWS::Scheduler::Schedule":        2,
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
