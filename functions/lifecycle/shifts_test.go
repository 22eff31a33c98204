package lifecycle

import (
	"context"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/zonalshift"
)

// A shift that began is told once. A pass without the pools cannot announce it, and leaves it to the
// next tick.
func TestOnlyATickTakesTheNewsOfAShift(t *testing.T) {
	l := newLife(t)
	server.Claim(t, "shifted", "")
	var announced []bool
	l.shifts = func(_ context.Context, announce bool) (map[string]time.Time, zonalshift.Change) {
		announced = append(announced, announce)
		return nil, zonalshift.Change{}
	}
	if _, err := l.handle(t.Context(), wakes(t, l.goOn(0))); err != nil {
		t.Fatal(err)
	}
	l.tickOnce(t)
	if len(announced) != 2 || announced[0] || !announced[1] {
		t.Errorf("the passes took the news: %v, want false and true", announced)
	}
}
