package planted_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/testdata/lab/laws"
	"github.com/whittle-dev/whittle/testdata/lab/simulate"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/planted"
)

var update = flag.Bool("update", false, "write the page")

const page = "../../laws/README.md"

// pageHead is the text before the tables.
const pageHead = "# Laws\n\n" +
	"This page lists the rules that the tests hold Whittle to. `go test ./simulate/planted -args -update` in\n" +
	"`testdata/lab` writes it from the code. A planted fault is one that Whittle once had, or must never have.\n" +
	"`make simulate planted=NAME` looks for a seed in which its law finds it.\n"

// TestPageOfLaws compares the page with the code.
func TestPageOfLaws(t *testing.T) {
	faults := map[string][]string{}
	for _, fault := range planted.Faults() {
		faults[fault.Law] = append(faults[fault.Law], "`"+fault.Name+"`")
	}
	var text strings.Builder
	text.WriteString(pageHead)
	for _, part := range []struct {
		title string
		laws  []laws.Law
	}{
		{"At every moment, in the simulation, chaos runs, the crash matrix, and at the end of `make run`, a storm and a day",
			laws.Always()},
		{"In a world at rest, in the same places without the day", laws.AtRest()},
		{"In the simulation alone", simulate.Laws()},
	} {
		fmt.Fprintf(&text, "\n**%s:**\n\n| law | rule | planted faults |\n| --- | --- | --- |\n", part.title)
		for _, law := range part.laws {
			fmt.Fprintf(&text, "| %s | %s | %s |\n", law.Name, law.Says, strings.Join(faults[law.Name], ", "))
			delete(faults, law.Name)
		}
	}
	if len(faults) > 0 {
		t.Errorf("planted faults of laws that do not exist: %v", faults)
	}
	if *update {
		if err := os.WriteFile(page, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	written, err := os.ReadFile(page)
	if err != nil || string(written) != text.String() {
		t.Errorf("%v; the page differs from the code: go test ./simulate/planted -args -update", err)
	}
}
