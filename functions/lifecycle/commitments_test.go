package lifecycle

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/commitment"
	"github.com/whittle-dev/whittle/shared/inventory"
)

// TestCommitmentsAreCountedOnTicks counts what is left of a Reserved Instance beside what runs outside of the cluster.
func TestCommitmentsAreCountedOnTicks(t *testing.T) {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	running := []commitment.Instance{
		{ID: "i-outside", Type: "m5.large", Zone: "a"}, {ID: "i-own", Type: "m5.large", Zone: "a", Own: true},
	}
	ticked := &seen{}
	ticked.tick = true
	var failed error
	h := &Handler{now: func() time.Time { return now }, commitmentShare: 0.5}
	h.usage = func(context.Context) ([]commitment.Instance, error) { return running, failed }
	store := &recorded{configured: configured{objects: map[string]*corev1.ConfigMap{}}}
	read := func() *commitment.Reading {
		t.Helper()
		reading, err := inventory.Commitments(t.Context(), store)
		if err != nil {
			t.Fatal(err)
		}
		return reading
	}
	h.countCommitments(t.Context(), store, ticked)
	if read() != nil {
		t.Error("an account without commitments is counted")
	}
	facts := commitment.Facts{Reserved: []commitment.ReservedInstance{
		{ID: "a", InstanceType: "m5.large", Count: 10, Zone: "a", Start: now.AddDate(-1, 0, 0), End: now.AddDate(1, 0, 0)},
	}}
	if err := inventory.PutCommitmentFacts(t.Context(), store, facts); err != nil {
		t.Fatal(err)
	}
	h.countCommitments(t.Context(), store, &seen{})
	if read() != nil {
		t.Error("a pass that is no tick's has counted")
	}
	h.countCommitments(t.Context(), store, ticked)
	reading := read()
	if len(reading.Stocks) != 1 || reading.Stocks[0].Used != 2 || reading.Stocks[0].Left(reading.Share) != 4 {
		t.Errorf("counted %+v", reading)
	}
	if len(reading.Covered) != 1 || reading.Covered["i-own"] != 1 {
		t.Errorf("covered are %v, want the cluster's own", reading.Covered)
	}
	if len(store.told) != 0 {
		t.Errorf("a commitment of a year is told: %+v", store.told)
	}
	failed, now = errors.New("throttled"), now.Add(time.Minute)
	h.countCommitments(t.Context(), store, ticked)
	if again := read(); !again.Time.Equal(reading.Time) {
		t.Error("a failed count replaces the last one")
	}
}

// recorded is a store that keeps the events too.
type recorded struct {
	configured
	told []cluster.Event
}

func (r *recorded) Record(_ context.Context, event cluster.Event, _ time.Time) error {
	r.told = append(r.told, event)
	return nil
}

// TestTheEndOfACommitmentIsToldOnce ticks some times in the last 40 days of one, in new containers too.
// Where the last count cannot be read, the next tick tells it.
func TestTheEndOfACommitmentIsToldOnce(t *testing.T) {
	end := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	store := &recorded{configured: configured{objects: map[string]*corev1.ConfigMap{}}}
	facts := commitment.Facts{Reserved: []commitment.ReservedInstance{
		{ID: "r-1", InstanceType: "m5.large", Count: 10, Zone: "a", Start: end.AddDate(-1, 0, 0), End: end},
	}}
	if err := inventory.PutCommitmentFacts(t.Context(), store, facts); err != nil {
		t.Fatal(err)
	}
	ticked := &seen{}
	ticked.tick = true
	for left, want := range []int{0, 0, 1, 1, 1, 2, 2} {
		now := end.AddDate(0, 0, []int{-40, -31, -29, -20, -8, -6, -1}[left])
		for range 2 {
			h := &Handler{now: func() time.Time { return now }, commitmentShare: 1}
			h.usage = func(context.Context) ([]commitment.Instance, error) { return nil, nil }
			h.countCommitments(t.Context(), store, ticked)
		}
		if len(store.told) != want {
			t.Errorf("at %s it has told %+v, want %d", now, store.told, want)
		}
	}
	event := store.told[0]
	if event.Reason != api.EventReasonCommitmentEnds || event.About.Name != inventory.CommitmentsName ||
		!strings.Contains(event.Message, "r-1 (10 × m5.large in a") {
		t.Errorf("told %+v", event)
	}
}
