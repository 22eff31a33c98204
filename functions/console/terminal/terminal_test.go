package terminal_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/whittle-dev/whittle/functions/console/terminal"
)

func TestFitLeavesOutColumns(t *testing.T) {
	rows := [][]terminal.Cell{
		terminal.Header("NAME", ">PODS", "ZONE", "NOTE"),
		{{Text: "node-1"}, {Text: "12", Right: true}, {Text: "us-east-1a"}, {Text: "a reason that nobody can read to its end"}},
	}
	for _, test := range []struct {
		width int
		want  string
	}{
		{0, "NAME    PODS  ZONE        NOTE\nnode-1    12  us-east-1a  a reason that nobody can read to its end\n"},
		{50, "NAME    PODS  ZONE        NOTE\nnode-1    12  us-east-1a  a reason that nobody ca…\n"},
		{40, "NAME    PODS  NOTE\nnode-1    12  a reason that nobody can …\n"},
		{32, "NAME    NOTE\nnode-1  a reason that nobody ca…\n"},
	} {
		got := terminal.Style{Width: test.width}.Fit(rows, 2, 1)
		if got != test.want {
			t.Errorf("%d: %q, want %q", test.width, got, test.want)
		}
		for line := range strings.Lines(got) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); test.width > 0 && n > test.width {
				t.Errorf("%d: a line has %d characters", test.width, n)
			}
		}
	}
}

func TestBar(t *testing.T) {
	for part, want := range map[float64]string{0: "░░░░", 0.5: "██░░", 0.53: "██▏░", 1: "████", 2: "████", -1: "░░░░"} {
		if got := terminal.Bar(part, 4); got != want {
			t.Errorf("%v: %s, want %s", part, got, want)
		}
	}
}
