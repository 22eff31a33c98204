package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTemplateFollowsTheSpecification holds the template against AWS's own
// specification of resource types, which knows what neither the CDK nor the local
// CloudFormation looks at.
func TestTemplateFollowsTheSpecification(t *testing.T) {
	whole := synthesize(t, "one", "two")
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
	if out, err := node("check-template.mjs", faulty); err == nil || !strings.Contains(out, `VisibilityTimeout is "a minute", not a number`) {
		t.Errorf("a fault was not found: %v:\n%s", err, out)
	}
}

// TestCheckTemplate runs the tests of the check itself.
func TestCheckTemplate(t *testing.T) {
	if out, err := node("--test", "check-template.test.mjs"); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}

func node(arguments ...string) (string, error) {
	out, err := exec.Command("node", arguments...).CombinedOutput()
	return string(out), err
}
