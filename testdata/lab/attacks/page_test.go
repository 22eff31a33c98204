package attacks_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/testdata/lab/attacks"
)

var update = flag.Bool("update", false, "write the page")

const (
	root = "../../.."
	page = root + "/infra/security.md"
	head = "<!-- attacks: written by `go test ./attacks -args -update` in testdata/lab -->\n"
	end  = "<!-- end of attacks -->\n"
)

// TestPageOfAttacks compares the threat model's table with the list.
func TestPageOfAttacks(t *testing.T) {
	var table strings.Builder
	table.WriteString("| actor | tries | bound | test |\n| --- | --- | --- | --- |\n")
	for _, attack := range attacks.All() {
		fmt.Fprintf(&table, "| %s | %s | %s | `%s` in [%s](../%s) |\n", attack.Actor, attack.Tries, attack.Bound, attack.Test,
			filepath.Base(attack.Package), strings.TrimPrefix(attack.Package, "./"))
	}
	written, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(written), head)
	_, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		t.Fatalf("%s lacks the comments around the table", page)
	}
	whole := before + head + table.String() + end + after
	if *update {
		if err := os.WriteFile(page, []byte(whole), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if whole != string(written) {
		t.Errorf("%s differs from the list: go test ./attacks -args -update", page)
	}
}

// TestEachAttackHasItsTest looks for the tests, because a pattern that names none passes.
func TestEachAttackHasItsTest(t *testing.T) {
	for _, attack := range attacks.All() {
		files, err := filepath.Glob(filepath.Join(root, attack.Package, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found = found || regexp.MustCompile(`(?m)^func `+attack.Test+`\(`).Match(content)
		}
		if !found {
			t.Errorf("%s has no test %s", attack.Package, attack.Test)
		}
		if len(attack.Fault) == 0 {
			t.Errorf("no fault lets %q through", attack.Tries)
		}
	}
}
