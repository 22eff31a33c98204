package nearest_test

import (
	"testing"

	"github.com/whittle-dev/whittle/shared/nearest"
)

func TestTo(t *testing.T) {
	words := []string{"status", "plan", "explain", "NodePool"}
	for given, want := range map[string]string{
		"plan": "plan", "paln": "plan", "pla": "plan", "explian": "explain", "state": "", "stats": "status",
		"Nodepool": "NodePool", "NodePol": "NodePool", "x": "", "": "", "ConfigMap": "",
	} {
		if got := nearest.To(given, words); got != want {
			t.Errorf("%q is nearest to %q, want %q", given, got, want)
		}
	}
}

func TestFold(t *testing.T) {
	words := []string{"Respect", "API", "CONFIG_MAP", "status"}
	for given, want := range map[string]string{
		"respect": "Respect", "api": "API", "config-map": "CONFIG_MAP", "STATSU": "status", "nothing": "", "": "",
	} {
		if got := nearest.Fold(given, words); got != want {
			t.Errorf("%q is nearest to %q, want %q", given, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "ab", 2}, {"ab", "ba", 1}, {"ca", "abc", 3}, {"json", "jsno", 1}, {"latest", "latst", 1},
		{"al2023", "al2032", 1}, {"kitten", "sitting", 3},
	} {
		if got := nearest.Distance(test.a, test.b); got != test.want {
			t.Errorf("from %q to %q it is %d, want %d", test.a, test.b, got, test.want)
		}
		if got := nearest.Distance(test.b, test.a); got != test.want {
			t.Errorf("from %q to %q it is %d, want %d", test.b, test.a, got, test.want)
		}
	}
}
