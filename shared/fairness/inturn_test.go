package fairness_test

import (
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/shared/fairness"
)

func TestInTurn(t *testing.T) {
	for given, want := range map[string]string{
		"":                     "",
		"a1":                   "a1",
		"a1 a2 a3":             "a1 a2 a3",
		"a1 a2 a3 b1":          "a1 b1 a2 a3",
		"b1 a1 b2 a2 c1 b3":    "b1 a1 c1 b2 a2 b3",
		"a1 a2 a3 b1 b2 c1 a4": "a1 b1 c1 a2 b2 a3 a4",
	} {
		items := strings.Fields(given)
		got := fairness.InTurn(items, func(item *string) string { return (*item)[:1] })
		if strings.Join(got, " ") != want || strings.Join(items, " ") != given {
			t.Errorf("%s became %s, and %v; want %s", given, got, items, want)
		}
	}
}
