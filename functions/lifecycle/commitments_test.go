package lifecycle

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

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
	store := &configured{objects: map[string]*corev1.ConfigMap{}}
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
	failed, now = errors.New("throttled"), now.Add(time.Minute)
	h.countCommitments(t.Context(), store, ticked)
	if again := read(); !again.Time.Equal(reading.Time) {
		t.Error("a failed count replaces the last one")
	}
}
