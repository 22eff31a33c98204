package infra

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTemplateFollowsTheSpecification checks the template against AWS's specification of resource
// types. Neither the CDK nor the local CloudFormation checks as much.
func TestTemplateFollowsTheSpecification(t *testing.T) {
	whole := synthesize(t, "one")
	sound := filepath.Join(t.TempDir(), "sound.json")
	if err := os.WriteFile(sound, whole.text, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := node("check-template.mjs", sound)
	if want := fmt.Sprintf("%d resources, 0 faults", len(whole.Resources)); err != nil || !strings.Contains(out, want) {
		t.Errorf("%v, want %q:\n%s", err, want, out)
	}

	for _, queue := range whole.ofType("AWS::SQS::Queue") {
		queue.Properties["VisibilityTimeout"] = "a minute"
	}
	text, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	faulty := filepath.Join(t.TempDir(), "faulty.json")
	if err := os.WriteFile(faulty, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := node("check-template.mjs", faulty); err == nil || !strings.Contains(
		out, `VisibilityTimeout is "a minute", not a number`,
	) {
		t.Errorf("a fault was not found: %v:\n%s", err, out)
	}
}

// TestCheckTemplate runs the tests of the check itself.
func TestCheckTemplate(t *testing.T) {
	if out, err := node("--test", "check-template.test.mjs"); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}

// node runs a script of this folder. It also reads the scripts and the lock of their packages. go
// test repeats a cached result unless a file changed that the test itself has read.
func node(arguments ...string) (string, error) {
	scripts, err := filepath.Glob("*.mjs")
	if err != nil {
		return "", err
	}
	for _, name := range append(scripts, "package-lock.json") {
		if _, err := os.ReadFile(name); err != nil {
			return "", err
		}
	}
	out, err := exec.Command("node", arguments...).CombinedOutput()
	return string(out), err
}

// TestTheTemplateSatisfiesNag runs cdk-nag's pack AwsSolutions with all settings that add rights.
// It also checks that the pack reports an unknown finding.
func TestTheTemplateSatisfiesNag(t *testing.T) {
	whole := synthesizeWith(t, map[string]any{
		"clusters": "one", "functions": builtFunctions(t), "windowsNodes": true, "subnets": "subnet-0a1b2c3d",
		"securityGroups": "sg-0a1b2c3d", "clusterSecurityGroup": "sg-4e5f6a7b",
	})
	file := filepath.Join(t.TempDir(), "template.json")
	if err := os.WriteFile(file, whole.text, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := node("check-nag.mjs", file); err != nil || !strings.Contains(out, " 0 faults") {
		t.Errorf("%v:\n%s", err, out)
	}
	var faulty map[string]any
	if err := json.Unmarshal(whole.text, &faulty); err != nil {
		t.Fatal(err)
	}
	for _, r := range faulty["Resources"].(map[string]any) {
		delete(r.(map[string]any), "Metadata")
	}
	text, err := json.Marshal(faulty)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := node("check-nag.mjs", file); err == nil || !strings.Contains(out, "AwsSolutions-IAM5[Resource::*]") {
		t.Errorf("what nobody knows is not found: %v:\n%s", err, out)
	}
}
