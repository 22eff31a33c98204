package main

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/functions/console/check"
)

// TestTemplates prints what templates choose of each command's object that needs no cluster.
func TestTemplates(t *testing.T) {
	for _, test := range []struct {
		arguments []string
		output    string
		want      string
	}{
		{append([]string{"plan"}, planArguments...), "jsonpath={.nodes[*].instanceType} {.nodes[0].pods}",
			`m6a.large ["default/web-0","default/web-1"]`},
		{append([]string{"plan"}, planArguments...), "custom-columns=TYPE:.instanceType,ZONE:zone",
			"TYPE        ZONE\nm6a.large   us-west-2a\n"},
		{append([]string{"plan", "--diff", "testdata/plan/cluster.yaml"}, planArguments...),
			"custom-columns=TYPE:.instanceType,BEFORE:.before,AFTER:.after",
			"TYPE        BEFORE   AFTER\nm6a.large   0        1\n"},
		{append([]string{"explain", "pod", "default/web-0"}, planArguments...), "custom-columns=POD:.pod,OUTCOME:.outcome",
			"POD             OUTCOME\ndefault/web-0   new node\n"},
		{append([]string{"explain", "pod", "default/web-0"}, planArguments...), "jsonpath={.node.zone}", "us-west-2a"},
		{[]string{"plan", "--consolidate", "-f", "testdata/consolidate", "-daemon-sets", "files"},
			"custom-columns=WHY:.reason,NODES:.delete[*].node",
			"WHY             NODES\nEmpty           empty\nUnderutilized   idle\nUnderutilized   busy\n"},
		{[]string{"version"}, "jsonpath={.formatVersion}", ""},
	} {
		text, problems, err := runPlan(t, "", append(test.arguments, "-o", test.output)...)
		if err != nil || text != test.want {
			t.Errorf("%q -o %s: %v\n%q, want\n%q\n%s", test.arguments, test.output, err, text, test.want, problems)
		}
	}
	file := filepath.Join(t.TempDir(), "types")
	if err := os.WriteFile(file, []byte("{.nodes[*].instanceType}"), 0o600); err != nil {
		t.Fatal(err)
	}
	text, _, err := runPlan(t, "", append([]string{"plan", "-o", "jsonpath-file=" + file}, planArguments...)...)
	if err != nil || text != "m6a.large" {
		t.Errorf("a template from a file: %v, %q", err, text)
	}
}

// TestEachFormOfOutputTakesATemplate finds commands with -o. A wrong template is one line that names the
// flag and a remedy.
func TestEachFormOfOutputTakesATemplate(t *testing.T) {
	with := 0
	for _, c := range commands() {
		help, _, _ := runPlan(t, "", "help", c.name)
		if !strings.Contains(help, "\n  -o ") {
			continue
		}
		with++
		for wrong, remedy := range map[string]string{
			"jsonpath={.nodes": "-o jsonpath='{.formatVersion}'", "custom-columns=NODE": "-o custom-columns=NAME:.name",
			"jso": `did you mean "json"?`,
		} {
			out, problems, err := runPlan(t, "", c.name, "-o", wrong)
			if !errors.Is(err, errUsage) || out != "" || strings.Count(problems, "\n") != 1 ||
				!strings.Contains(problems, "for flag -o: ") || !strings.Contains(problems, remedy) {
				t.Errorf("%s -o %s: %v, %q, want %q", c.name, wrong, err, problems, remedy)
			}
		}
	}
	if with < 6 {
		t.Errorf("only %d commands have -o", with)
	}
}

func TestFindingsInEachForm(t *testing.T) {
	findings := []check.Finding{{Subject: "cluster", State: check.Problem, Text: "is not there", Remedy: "name it"}}
	for output, want := range map[string]string{
		"custom-columns=WHAT:.subject,DO:.remedy": "WHAT      DO\ncluster   name it\n", "jsonpath={.worst}": "problem",
		"yaml": "findings:\n- remedy: name it\n  state: problem\n  subject: cluster\n  text: is not there\nworst: problem\n",
	} {
		var chosen form
		flags := flag.NewFlagSet("whittle check", flag.ContinueOnError)
		outputFlag(flags, &chosen, formTable, formJSON, formYAML)
		if err := flags.Parse([]string{"-o", output}); err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := writeFindings(&text, findings, &chosen); err != nil || text.String() != want {
			t.Errorf("%s: %v\n%q, want\n%q", output, err, text.String(), want)
		}
	}
}
