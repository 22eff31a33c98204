package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/smithy-go"
)

// TestCallsThatWaitAreOne starts 150 ends while the first call is under way.
func TestCallsThatWaitAreOne(t *testing.T) {
	refused := &smithy.GenericAPIError{Code: "InvalidInstanceID.NotFound"}
	busy := &smithy.OperationError{Err: &smithy.GenericAPIError{Code: "RequestLimitExceeded"}}
	for _, test := range []struct {
		name string
		// answer is that to a call, and failed are the ids that fail in the end.
		answer func(ids []string) error
		calls  []int
		failed int
	}{
		{"all end", func([]string) error { return nil }, []int{1, 50, 100}, 0},
		{
			"one id is bad", func(ids []string) error {
				if slices.Contains(ids, "i-77") {
					return refused
				}
				return nil
			},
			slices.Concat(slices.Repeat([]int{1}, 101), []int{50, 100}), 1,
		},
		{
			"EC2 is busy", func(ids []string) error {
				if len(ids) > 1 {
					return busy
				}
				return nil
			},
			[]int{1, 50, 100}, 150,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var b batch
				var mutex sync.Mutex
				var calls []int
				ended := map[string]int{}
				send := func(_ context.Context, ids []string) error {
					time.Sleep(time.Second)
					mutex.Lock()
					defer mutex.Unlock()
					calls = append(calls, len(ids))
					err := test.answer(ids)
					if err == nil {
						for _, id := range ids {
							ended[id]++
						}
					}
					return err
				}
				var failed []error
				var group sync.WaitGroup
				end := func(i int) {
					group.Go(func() {
						if err := b.do(t.Context(), fmt.Sprintf("i-%d", i), send); err != nil {
							mutex.Lock()
							defer mutex.Unlock()
							failed = append(failed, err)
						}
					})
				}
				end(0)
				synctest.Wait()
				for i := range 150 {
					end(i + 1)
					synctest.Wait() // so that they wait in their order
				}
				group.Wait()
				if slices.Sort(calls); !slices.Equal(calls, test.calls) {
					t.Errorf("calls for %v instances, want %v", calls, test.calls)
				}
				if len(failed) != test.failed || len(ended) != 151-test.failed {
					t.Errorf("%d ended, and %d failed: %v", len(ended), len(failed), errors.Join(failed...))
				}
				for id, times := range ended {
					if times != 1 {
						t.Errorf("%s was ended %d times", id, times)
					}
				}
				if b.busy || len(b.waiting) > 0 {
					t.Error("somebody still sends")
				}
			})
		})
	}
}
