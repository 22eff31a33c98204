package main

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/shared/version"
)

func TestHelpBeginsWithExamples(t *testing.T) {
	for _, c := range commands() {
		text, _, err := runPlan(t, "", "help", c.name)
		if !errors.Is(err, flag.ErrHelp) || exitCode(err) != 0 {
			t.Errorf("help %s: %v", c.name, err)
		}
		if !strings.HasPrefix(text, "whittle "+c.name+" "+c.meaning) || !strings.Contains(text, "Examples:\n  ") {
			t.Errorf("help %s is\n%s", c.name, text)
		}
		_, problems, err := runPlan(t, "", c.name, "-h")
		if !errors.Is(err, flag.ErrHelp) || problems != text {
			t.Errorf("%s -h: %v\n%s", c.name, err, problems)
		}
	}
	if text, _, err := runPlan(t, "", "help"); err != nil || !strings.Contains(text, "whittle completion") {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestVersion(t *testing.T) {
	if text, _, err := runPlan(t, "", "version"); err != nil || !strings.HasPrefix(text, "whittle "+version.Version) {
		t.Errorf("%v, %q", err, text)
	}
	text, _, err := runPlan(t, "", "version", "-o", "json")
	var shown map[string]string
	if err != nil || json.Unmarshal([]byte(text), &shown) != nil || shown["version"] != version.Version {
		t.Errorf("%v, %q", err, text)
	}
}

func TestExitCodes(t *testing.T) {
	folder := t.TempDir()
	write := func(name, cpu string) string {
		file := filepath.Join(folder, name)
		pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: main\n    image: image\n" +
			"    resources: {requests: {cpu: \"" + cpu + "\"}}\n---\n" +
			"apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: default}\nspec:\n  template:\n    spec:\n" +
			"      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}\n" +
			"      requirements: [{key: kubernetes.io/arch, operator: In, values: [arm64]}]\n"
		if err := os.WriteFile(file, []byte(pod), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	small, giant := write("small.yaml", "1"), write("giant.yaml", "5000")
	for _, test := range []struct {
		want      int
		arguments []string
	}{
		{0, []string{"plan", "-f", small}},
		{0, []string{"plan", "-f", small, "--exit-code", "--max-price", "100"}},
		{codeDear, []string{"plan", "-f", small, "--max-price", "0.0001"}},
		{0, []string{"plan", "-f", giant}},
		{codeUnplaced, []string{"plan", "-f", giant, "--exit-code"}},
		{codeUnplaced, []string{"plan", "-f", giant, "--exit-code", "-o", "json"}},
		{1, []string{"plan", "-f", filepath.Join(folder, "missing.yaml")}},
		{codeUsage, []string{"plan", "--nothing"}},
	} {
		out, problems, err := runPlan(t, "", test.arguments...)
		if got := exitCode(err); got != test.want {
			t.Errorf("%q ends with %d, want %d: %v, %s", test.arguments, got, test.want, err, problems)
		}
		if test.want != 1 && test.want != codeUsage && out == "" {
			t.Errorf("%q prints no plan", test.arguments)
		}
	}
}

func TestKubectlFindsThePlugin(t *testing.T) {
	for called, want := range map[string]string{
		"/usr/local/bin/kubectl-whittle": "kubectl whittle", "bin/whittle": "whittle", "whittle": "whittle",
	} {
		if got := programName(called); got != want {
			t.Errorf("%s is %q, want %q", called, got, want)
		}
	}
}

func TestSuggestions(t *testing.T) {
	for given, want := range map[string]string{
		"stauts": `did you mean "status"?`, "explian": `did you mean "explain"?`, "xyzzy": "lists all", "": "lists all",
	} {
		if got := suggestion(given, []string{"status", "explain"}); !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
}
