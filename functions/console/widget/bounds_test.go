package widget

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/functions/console/view"
	"github.com/whittle-dev/whittle/shared/commitment"
)

// TestPodsOfSleepingPoolsAreToldApart has pods whose NodePools sleep among others, and then alone.
func TestPodsOfSleepingPoolsAreToldApart(t *testing.T) {
	shown := small()
	shown.Waiting[0].Asleep = true
	if text := plain(render(t, shown, Options{})); !strings.Contains(text, "the oldest for 80s; NodePools of 1 sleep") {
		t.Errorf("it says %s", text)
	}
	shown.Waiting = shown.Waiting[:1]
	if text := plain(render(t, shown, Options{})); !strings.Contains(text, "their NodePools sleep") {
		t.Errorf("it says %s", text)
	}
}

// TestLimitsAndCommitmentsAreShown has the fullest limits and the most idle commitments of many.
func TestLimitsAndCommitmentsAreShown(t *testing.T) {
	shown := small()
	for _, text := range []string{"Limit of", "Commitments"} {
		if strings.Contains(plain(render(t, shown, Options{})), text) {
			t.Errorf("a cluster without them shows %s", text)
		}
	}
	shown.Commitments = &view.Commitments{Time: now.Add(-time.Minute), Current: true, PerHour: 3, IdlePerHour: 1}
	for n := range 30 {
		shown.Limits = append(shown.Limits, view.Limit{
			Kind: "CapacityQuota", Name: fmt.Sprint("q", n), Resource: "cpu", Most: "100", Used: fmt.Sprint(n),
			Left: fmt.Sprint(100 - n), Part: float64(n) / 100,
		})
		shown.Commitments.Held = append(shown.Commitments.Held, commitment.Use{
			ID: fmt.Sprintf("sp-%d", n), Kind: "Compute Savings Plan", Covers: "any family", PerHour: 2,
			IdlePerHour: float64(n) / 100, Ends: now.AddDate(0, 1, 0),
		})
	}
	shown.Commitments.Ending = []view.Ending{{Message: "Compute Savings Plan sp-1 ends on 2026-03-05"}}
	text := plain(render(t, shown, Options{}))
	for _, want := range []string{
		"capacityquota q29 cpu 29/100 71", "and 5 more: bin/whittle status -A shows all",
		"Commitment ends: Compute Savings Plan sp-1 ends on 2026-03-05.", "Commitments of the account: $3.0000/h", "sp-29 Compute Savings Plan any family 2.0000 0.2900 2026-04-01",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "capacityquota q4 ") || strings.Contains(text, "sp-4 ") {
		t.Error("the tables are not bounded")
	}
}
