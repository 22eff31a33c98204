package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/shared/version"
)

// TestMistakes types what people type. Each answer is one line that says what is right.
func TestMistakes(t *testing.T) {
	for words, want := range map[string]string{
		// Commands.
		"statsu": `there is no command "statsu": did you mean "status"?`, "Plan": `did you mean "plan"?`,
		"get nodes": "use `whittle status`", "describe pod x": "use `whittle explain`",
		"frobnicate": "`whittle help` lists all",
		"-f x plan":  "flags follow it", "help pln": `did you mean "plan"?`,
		// Flags.
		"plan --exitcode": `there is no flag -exitcode: did you mean "exit-code"?`, "plan --filename x": "did you mean -f?",
		"status -w": "did you mean -watch?", "plan --wide": "did you mean -o wide?",
		"events --wide": "`whittle help events` lists all", "plan -frobnicate": "`whittle help plan` lists all",
		"plan -n shop":       "it is one of `whittle status`, `whittle explain`, `whittle events`",
		"status -max-price":  "it is one of `whittle plan`",
		"plan -f":            "write -f FILE: file of Kubernetes manifests",
		"plan -consolidate=": "write the flag alone",
		// Values.
		"plan -policy respect": `want Respect or Ignore: did you mean "Respect"?`, "plan -o jsno": `did you mean "json"?`,
		"events -since yesterday": "write a time such as 90s", "check -authentication-mode api": `did you mean "API"?`,
		// Arguments.
		"check": "whittle check: name the cluster: -cluster NAME\n", "check prod": "takes no arguments",
		"version x":             "takes no arguments",
		"plan testdata/plan":    "name files with -f, as in -f testdata/plan",
		"convert testdata/plan": "name files with -f, as in -f testdata/plan",
		"completion bahs":       `did you mean "bash"?`,
		"explain svc/foo": `there is no type "svc" to explain: want TYPE NAME or TYPE/NAME, with a type among ` +
			`pod, node, `,
		"explain services foo":      "with a type among pod, node, nodeclaim, nodepool, deployment, ",
		"explain ec2nodeclass/a":    `there is no type "ec2nodeclass" to explain`,
		"explain -f a.yaml svc foo": `there is no type "svc" to explain`,
		"explain nodepol default":   `there is no type "nodepol": did you mean "nodepool"?`,
		"explain":                   "with a type among pod, ",
	} {
		out, problems, err := runPlan(t, "", strings.Fields(words)...)
		if !errors.Is(err, errUsage) || out != "" || strings.Count(problems, "\n") != 1 || !strings.Contains(problems, want) {
			t.Errorf("%s: %v, %q, %q, want %q", words, err, out, problems, want)
		}
	}
	for _, word := range []string{"--version", "-version", "-v"} {
		if text, _, err := runPlan(t, "", word); err != nil || !strings.HasPrefix(text, "whittle "+version.Version) {
			t.Errorf("%s: %v, %q", word, err, text)
		}
	}
}

// TestOtherWordsLeadToCommands checks the tables of what people say elsewhere.
func TestOtherWordsLeadToCommands(t *testing.T) {
	for word, meant := range otherWords {
		name, flag, hasFlag := strings.Cut(meant, " -")
		c, err := find(name)
		if err != nil || hasFlag && flagsOf(c).Lookup(flag) == nil {
			t.Errorf("%s leads to %q: %v", word, meant, err)
		}
		if _, err := find(word); err == nil {
			t.Errorf("%s is a command", word)
		}
	}
	for word, meant := range otherFlags {
		name, value, _ := strings.Cut(meant, " ")
		found := false
		for _, c := range commands() {
			f := flagsOf(c).Lookup(name)
			found = found || f != nil && (value == "" || f.Value.Set(value) == nil)
		}
		if !found {
			t.Errorf("%s leads to -%s, which no command has", word, name)
		}
	}
}
