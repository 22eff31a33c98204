package status_test

import (
	"testing"

	"github.com/whittle-dev/whittle/shared/status"
)

func TestCloseness(t *testing.T) {
	for _, test := range []struct {
		price, bound float64
		want         string
	}{
		{3, 0, ""},
		{0, 0, ""},
		{3, 3, "optimal"},
		{3, 3 * (1 - 1e-9), "optimal"},
		{3, 3 * (1 + 1e-9), "optimal"},
		{3.0001, 3, "at most 0.1 % above the cheapest plan"},
		{3.06, 3, "at most 2.0 % above the cheapest plan"},
		{3.2, 3, ""},
	} {
		if got := status.Closeness(test.price, test.bound); got != test.want {
			t.Errorf("%v of %v is %q, want %q", test.price, test.bound, got, test.want)
		}
	}
}
