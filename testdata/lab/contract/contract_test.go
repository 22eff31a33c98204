package contract_test

import (
	"os"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/testdata/lab/contract"
)

func TestEachFactIsOfTheLedger(t *testing.T) {
	page, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, assumption := range contract.Assumptions() {
		if !strings.Contains(string(page), "\n| "+assumption+" |") {
			t.Errorf("the ledger has no row %q", assumption)
		}
		if seen[assumption] {
			t.Errorf("%q is observed twice", assumption)
		}
		seen[assumption] = true
	}
	if len(seen) < 10 {
		t.Errorf("only %d facts are observed", len(seen))
	}
}
