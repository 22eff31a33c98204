package main

import (
	"strings"
	"testing"
)

func TestWhichPartIsBehind(t *testing.T) {
	for name, test := range map[string]struct{ line, functions, installed, want string }{
		"all alike":              {"1.2.0", "1.2.0", "1.2.0", "||"},
		"functions are behind":   {"1.10.0", "1.9.0", "1.10.0", "|behind 1.10.0: deploy|"},
		"the command is behind":  {"1.2.0", "1.3.0", "1.3.0", "behind 1.3.0: install||"},
		"a rollback is half way": {"1.2.0", "1.2.0", "1.3.0", "behind 1.3.0: install|behind 1.3.0: deploy|"},
		"nothing is deployed":    {"1.2.0", "", "", "|is the stack deployed? deploy|is the stack deployed? deploy"},
	} {
		var remedies []string
		for _, p := range compared([]part{
			{Version: test.line, Remedy: "install"}, {Version: test.functions, Remedy: "deploy"},
			{Version: test.installed, Remedy: "deploy"},
		}) {
			remedies = append(remedies, p.Remedy)
		}
		if got := strings.Join(remedies, "|"); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
