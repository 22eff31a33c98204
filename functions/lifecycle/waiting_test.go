package lifecycle

import (
	"slices"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/queue"
)

// hours is a life whose clock jumps from one message to the next, so that delayed messages arrive
// at once.
type hours struct {
	*life
	at     time.Time
	queued []queue.Message
	took   map[bool]time.Duration // of the passes, by whether they were ticks'
	passes map[bool]int
}

func newHours(t *testing.T) *hours {
	h := &hours{life: newLife(t), at: time.Now().Truncate(time.Minute).Add(time.Minute)}
	h.Handler.now = func() time.Time { return h.at }
	h.reset()
	return h
}

func (h *hours) reset() { h.took, h.passes = map[bool]time.Duration{}, map[bool]int{} }

// pass delivers the messages of a time: a tick each minute, and those that lifecycle sends itself.
// It stops early when done. The kubelet of the node ends pods between messages.
func (h *hours) pass(t *testing.T, node string, lasting time.Duration, done func() bool) {
	t.Helper()
	end := h.at.Add(lasting)
	tick := h.at
	for !done() {
		slices.SortStableFunc(h.queued, func(a, b queue.Message) int { return a.At.Compare(b.At) })
		next, ticks := queue.Message{Cluster: "test", At: tick, Reason: queue.ReasonTick}, true
		if len(h.queued) > 0 && h.queued[0].At.Before(tick) {
			next, ticks = h.queued[0], false
		}
		if !next.At.Before(end) {
			h.at = end
			return
		}
		if ticks {
			tick = tick.Add(time.Minute)
		} else {
			h.queued = h.queued[1:]
		}
		h.at = next.At
		began := time.Now()
		if _, err := h.handle(t.Context(), wakes(t, next)); err != nil {
			t.Fatal(err)
		}
		h.took[ticks] += time.Since(began)
		h.passes[ticks]++
		h.queued = append(h.queued, h.mail.sent["l"]...)
		delete(h.mail.sent, "l")
		server.EndPods(t, node)
	}
}

// TestADrainThatWaitsForHoursRunsNothing counts invocations: a drain without progress needs none
// between the ticks.
func TestADrainThatWaitsForHoursRunsNothing(t *testing.T) {
	h := newHours(t)
	never := func() bool { return false }
	h.pass(t, "none", time.Hour, never)
	idle := h.took[true]

	h.at = time.Now()
	h.join(t, "hours")
	server.Pod(t, "waits", "node-hours", labelled("waits"))
	budget(t, "hours", "waits", 0)
	t.Cleanup(func() { server.Delete(t, budgetsPath+"/hours") })
	server.Delete(t, api.NodeClaimsPath+"/hours")
	h.at = readClaim(t, "hours").DeletionTimestamp.Add(time.Second)
	h.reset()
	h.pass(t, "node-hours", time.Hour, never)
	first, provision := h.passes, len(h.mail.sent["p"])
	if first[true] != 60 || first[false] > 60 {
		t.Errorf("in the first hour %d ticks and %d other passes", first[true], first[false])
	}
	h.reset()
	h.pass(t, "node-hours", 2*time.Hour, never)
	if h.passes[true] != 120 || h.passes[false] != 0 {
		t.Errorf("in two more hours %d ticks and %d other passes", h.passes[true], h.passes[false])
	}
	if len(h.mail.sent["p"]) != provision {
		t.Error("capacity is asked for again and again for a pod that stays")
	}
	waiting := h.took[true] / 2
	t.Logf("an hour of waiting: 60 invocations, all of them ticks, %d ms; "+
		"an idle hour: %d ms; the first hour had %d invocations more",
		waiting.Milliseconds(), idle.Milliseconds(), first[false])

	server.Delete(t, budgetsPath+"/hours")
	began := h.at
	h.pass(t, "node-hours", time.Hour, func() bool { return readClaim(t, "hours") == nil })
	if took := h.at.Sub(began); took > 3*time.Minute {
		t.Errorf("after the wait the end took %s", took)
	}
	if functiontest.Get[api.NodeClaim](t, server, api.NodeClaimsPath+"/hours") != nil || !isGone(t, "waits") ||
		len(h.ec2.running()) != 0 {
		t.Error("the claim, the pod or the instance is still there")
	}
}
