package main

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
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

// TestCompletion asks the real bash what it would complete.
func TestCompletion(t *testing.T) {
	script, _, err := runPlan(t, "", "completion", "bash")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ words, want string }{
		{"whittle pl", "plan"}, {"whittle plan --ex", ""}, {"whittle plan -ex", "-exit-code"},
		{"whittle explain po", "pod"}, {"whittle completion z", "zsh"}, {"whittle help", "help"},
	} {
		ask := script + "\nCOMP_WORDS=(" + test.words + ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_whittle\n" +
			"echo \"${COMPREPLY[@]}\"\n"
		answer, err := exec.CommandContext(t.Context(), "bash", "--norc", "-c", ask).CombinedOutput()
		if got := strings.TrimSpace(string(answer)); err != nil || got != test.want {
			t.Errorf("%s: %v, %q, want %q", test.words, err, got, test.want)
		}
	}
	for _, shell := range []string{"zsh", "fish"} {
		script, _, err := runPlan(t, "", "completion", shell)
		if err != nil || !strings.Contains(script, "exit-code") || !strings.Contains(script, "kubeconfig") {
			t.Errorf("%s: %v\n%s", shell, err, script)
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
