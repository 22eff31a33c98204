package main

import (
	"strings"
	"testing"
	"unicode"
)

// TestPodsCannotSteerTheTerminal plans for a pod whose name and scheduler hold escape sequences.
func TestPodsCannotSteerTheTerminal(t *testing.T) {
	hostile := `{"apiVersion": "v1", "kind": "Pod",
		"metadata": {"name": "web\u001b[2J\u009b8m\r\u001b]0;title\u0007", "namespace": "default"},
		"spec": {"nodeSelector": {"zone\u001b[8m": "here\u202e"},
			"containers": [{"name": "web", "resources": {"requests": {"cpu": "1"}}}]}}`
	arguments := []string{
		"-f", "-", "-f", "testdata/plan/cluster.yaml", "--instance-types", "testdata/plan/types.json",
	}
	for _, command := range [][]string{
		{"plan"}, {"plan", "-o", "json"}, {"explain", "pod", "web\x1b[2J\u009b8m\r\x1b]0;title\a"},
		{"explain", "pod", "w\x1b[2J"},
	} {
		out, problems, err := runPlan(t, hostile, append(command, arguments...)...)
		if out == "" && err == nil {
			t.Errorf("%q wrote nothing: %s", command, problems)
		}
		for _, r := range out + problems {
			if unicode.IsControl(r) && !strings.ContainsRune("\n\t", r) {
				t.Errorf("%q wrote %U in\n%q%q", command, r, out, problems)
				break
			}
		}
	}
}
