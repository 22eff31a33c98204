package lag

import (
	"testing"
	"time"
)

func TestEachReplicaLearnsAChangeAtItsTime(t *testing.T) {
	start := time.Unix(1_000, 0)
	after := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	var v Value[string]
	v.Set("new", start, after(2), after(5))
	// The first replica would learn the end before the beginning.
	v.Set("old", after(3), after(1), after(9))
	for _, want := range []struct {
		second, replica int
		value           string
	}{
		{0, 0, ""}, {0, 1, ""}, {2, 0, "old"}, {2, 1, ""}, {5, 1, "new"}, {8, 1, "new"}, {9, 1, "old"},
	} {
		if value, known := v.Get(after(want.second), want.replica); value != want.value || known != (want.value != "") {
			t.Errorf("after %d s replica %d shows %q (%t), want %q", want.second, want.replica, value, known, want.value)
		}
	}
	if v.Latest() != "old" {
		t.Errorf("the latest value is %q", v.Latest())
	}
}

func TestSettledValuesAreKnownAtOnce(t *testing.T) {
	start := time.Unix(1_000, 0)
	var v Value[int]
	v.Settle()
	v.Set(1, start, start.Add(time.Hour))
	v.Settle()
	if value, known := v.Get(start, 0); !known || value != 1 {
		t.Errorf("%d (%t) after Settle, want 1", value, known)
	}
}

func TestAValueForgetsWhatNobodyShows(t *testing.T) {
	start := time.Unix(1_000, 0)
	var v Value[int]
	for i := range 1_000 {
		now := start.Add(time.Duration(i) * time.Second)
		v.Set(i, now, now, now.Add(3*time.Second))
	}
	if len(v.changes) > 5 {
		t.Errorf("it keeps %d changes, of which at most 5 are shown", len(v.changes))
	}
}
