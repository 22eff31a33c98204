package nearest_test

import (
	"testing"

	"github.com/whittle-dev/whittle/shared/nearest"
)

func TestTo(t *testing.T) {
	words := []string{"status", "plan", "explain", "NodePool"}
	for given, want := range map[string]string{
		"plan": "plan", "paln": "", "pla": "plan", "explian": "explain", "state": "", "stats": "status",
		"Nodepool": "NodePool", "NodePol": "NodePool", "x": "", "": "", "ConfigMap": "",
	} {
		if got := nearest.To(given, words); got != want {
			t.Errorf("%q is nearest to %q, want %q", given, got, want)
		}
	}
}
