package engine_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/simulate/engine"
)

func TestCallsAreInOrderWhateverGoroutineComesFirst(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			e := engine.New(1, func() {})
			var order []string
			for n := range 8 {
				go func() {
					e.Arrive(fmt.Sprint(n), func() { order = append(order, fmt.Sprint(n)) })
				}()
			}
			e.Run(time.Now().Add(time.Second))
			if !slices.IsSorted(order) || len(order) != 8 {
				t.Errorf("order is %v", order)
			}
		})
	}
}

func TestEventsRunByTimeAndThenByTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := 0
		e := engine.New(1, func() { steps++ })
		began := time.Now()
		var order []string
		note := func(name string) func() {
			return func() { order = append(order, fmt.Sprint(name, " ", time.Since(began))) }
		}
		e.In(2*time.Second, note("late"))
		e.In(time.Second, note("first"))
		e.In(time.Second, note("second"))
		e.In(time.Hour, note("never"))
		e.Run(began.Add(time.Minute))
		if want := []string{"first 1s", "second 1s", "late 2s"}; !slices.Equal(order, want) || steps != 3 {
			t.Errorf("order is %v after %d steps, want %v", order, steps, want)
		}
	})
}

func TestAnArrivalWakesTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := engine.New(1, func() {})
		began := time.Now()
		var at time.Duration
		go func() {
			time.Sleep(1500 * time.Millisecond)
			e.Arrive("x", func() { at = time.Since(began) })
		}()
		e.Run(began.Add(time.Minute))
		if at != 1500*time.Millisecond {
			t.Errorf("it ran after %s", at)
		}
	})
}

func TestChoicesDependOnSeedAndName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, same, other := engine.New(1, nil), engine.New(1, nil), engine.New(2, nil)
		if one.Share("a") != same.Share("a") || one.Share("a") == one.Share("b") || one.Share("a") == other.Share("a") {
			t.Error("choices do not follow seed and name")
		}
		if n := one.Number(3, 3, "x"); n != 3 {
			t.Errorf("a number from 3 to 3 is %d", n)
		}
	})
}
