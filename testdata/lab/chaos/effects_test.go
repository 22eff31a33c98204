package chaos

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestDisturbancesWithoutEffectAreCounted(t *testing.T) {
	e := newEffects()
	ctx, cancel := context.WithCancel(t.Context())
	var hit atomic.Bool
	for range 10 {
		e.began()
	}
	e.missed(Stop)
	e.missed(Stop)
	e.later(ctx, Throttle, time.Hour, time.Millisecond, hit.Load)
	hit.Store(true)
	e.pending.Wait()
	if said := e.violation(); said != "" {
		t.Errorf("2 of 10: %s", said)
	}
	e.later(ctx, LoseReply, time.Hour, time.Millisecond, func() bool { return false })
	e.later(ctx, LoseReply, time.Millisecond, time.Hour, func() bool { return false })
	cancel()
	e.pending.Wait()
	if said := e.violation(); said != "" {
		t.Errorf("4 of 10: %s", said)
	}
	want := []string{"", "disturbance without effect\tcount", "an answer of EC2's is lost\t2", "an instance stops\t2"}
	if rows := e.rows(); !slices.Equal(rows, want) {
		t.Errorf("rows %q, want %q", rows, want)
	}
}

// A count above the greatest share is chance in a short run, and a fault in a long one.
func TestTooManyDisturbancesWithoutEffectAreAViolation(t *testing.T) {
	for _, c := range []struct {
		total, idle int
		violation   bool
	}{
		{0, 0, false},
		{40, 15, false},
		{40, 23, false},
		{40, 24, true},
		{1200, 450, false},
		{1200, 480, true},
	} {
		e := newEffects()
		for range c.total {
			e.began()
		}
		for range c.idle {
			e.missed(Stop)
		}
		said := e.violation()
		if (said != "") != c.violation || said != "" && !strings.Contains(said, "disturbances had no effect") {
			t.Errorf("%d of %d: %q", c.idle, c.total, said)
		}
	}
}
