package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/functions/console/report"
)

// TestPlanConsolidate has four nodes. One of them must not be disrupted.
func TestPlanConsolidate(t *testing.T) {
	text, problems, err := runPlan(t, "", "plan", "--consolidate", "-o", "json", "-f", "testdata/consolidate",
		"-daemon-sets", "files")
	if err != nil || strings.Count(problems, "\n") != 1 || !strings.Contains(problems, "no file has its EC2NodeClass") {
		t.Fatal(err, problems)
	}
	var shown report.Consolidation
	if err := json.Unmarshal([]byte(text), &shown); err != nil {
		t.Fatal(err)
	}
	var gone []string
	saved := 0.0
	for _, move := range shown.Moves {
		saved += move.SavedPerHour
		for _, leaving := range move.Delete {
			gone = append(gone, leaving.Node+" "+move.Reason)
		}
	}
	if got := strings.Join(gone, ", "); got != "empty Empty, idle Underutilized, busy Underutilized" {
		t.Errorf("there go %s", got)
	}
	if len(shown.Stays) != 1 || shown.Stays[0].Node != "kept" || shown.Stays[0].Because != "Protected" {
		t.Errorf("there stay %+v", shown.Stays)
	}
	if difference := shown.PricePerHour - shown.AfterPerHour - saved; difference > 1e-9 || difference < -1e-9 ||
		saved <= 0 {
		t.Errorf("$%f an hour now, $%f after, $%f saved", shown.PricePerHour, shown.AfterPerHour, saved)
	}
	if strings.Contains(text, "null") {
		t.Errorf("something is null in %s", text)
	}
}

// TestPlanConsolidateHasVerdicts holds the exit codes of moves: pending pods without a place, and the
// price of new nodes, of moves as of pending pods.
func TestPlanConsolidateHasVerdicts(t *testing.T) {
	folder := t.TempDir()
	file := func(name, cpu string) string {
		path := filepath.Join(folder, name)
		pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec:\n  containers:\n  - name: main\n" +
			"    image: image\n    resources: {requests: {cpu: \"" + cpu + "\"}}\n"
		if err := os.WriteFile(path, []byte(pod), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	giant, large := file("giant.yaml", "5000"), file("large.yaml", "60")
	const fleet = "testdata/consolidate"
	for _, test := range []struct {
		want      int
		says      string
		arguments []string
	}{
		{0, "", []string{"-f", fleet, "--exit-code", "--max-price", "100"}},
		{0, "", []string{"-f", fleet, "-f", giant}},
		{codeUnplaced, "1 pods have no place", []string{"-f", fleet, "-f", giant, "--exit-code"}},
		{codeUnplaced, "1 pods have no place", []string{"-f", fleet, "-f", giant, "--exit-code", "-o", "json"}},
		{codeDear, "the new nodes cost $", []string{"-f", fleet, "-f", large, "--max-price", "0.5"}},
		{codeDear, "the new nodes cost $", []string{"-f", fleet, "--max-price", "0.001"}}, // those of a move
		{codeUsage, "leave -consolidate or -diff out", []string{"-f", fleet, "--diff", fleet}},
	} {
		out, problems, err := runPlan(t, "", append([]string{"plan", "--consolidate"}, test.arguments...)...)
		if got := exitCode(err); got != test.want || !strings.Contains(fmt.Sprint(problems, err), test.says) {
			t.Errorf("%q ends with %d, want %d and %q: %v, %s", test.arguments, got, test.want, test.says, err, problems)
		}
		if test.want != codeUsage && out == "" {
			t.Errorf("%q prints no moves", test.arguments)
		}
	}
}

func TestPlanConsolidateTable(t *testing.T) {
	text, _, err := runPlan(t, "", "plan", "--consolidate", "-f", "testdata/consolidate")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"SAVES $/H", "idle (m5.large on-demand 0.0982)", "room on 1 node", "kept  0.0982  Protected",
		"$0.4888/h now, of which $0.0088/h are extras, $0.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if _, problems, err := runPlan(t, "", "explain", "pod", "a/b", "--consolidate"); err == nil ||
		!strings.Contains(problems, "consolidate") {
		t.Errorf("explain takes the flag: %v %s", err, problems)
	}
}
