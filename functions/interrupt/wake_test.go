package interrupt

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/whittle-dev/whittle/shared/queue"
)

// silent is a sender whose calls get no answer.
type silent struct{}

func (silent) Send(ctx context.Context, _ string, _ ...queue.Message) error {
	<-ctx.Done()
	return ctx.Err()
}

func (silent) ShowAgain(ctx context.Context, _ string, _ time.Duration, _ ...queue.Received) error {
	<-ctx.Done()
	return ctx.Err()
}

// A wake-up without an answer must not last until Lambda ends the invocation. The messages would
// come back after the visibility timeout, which is a third of a spot warning's time.
func TestAWakeUpWithoutAnAnswerLeavesTimeForTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		end, _ := ctx.Deadline()
		h, lost := &Handler{provision: "p", lifecycle: "l", sender: silent{}, now: time.Now}, &message{displaced: true}
		h.wake(ctx, []*message{lost})
		if left := time.Until(end); left < time.Second {
			t.Errorf("%s are left for the answer, want %s", left, time.Second)
		}
		if lost.err == nil {
			t.Error("the message does not come back")
		}
	})
}
