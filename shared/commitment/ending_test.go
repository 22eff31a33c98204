package commitment_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/commitment"
)

// TestAnEndIsToldTwice looks each hour of 40 days at a plan and a Reserved Instance, from 35 days before
// their ends on. Each is told once 30 days before, and once 7 days before.
func TestAnEndIsToldTwice(t *testing.T) {
	end := now.AddDate(0, 0, 35)
	facts := commitment.Facts{
		Reserved: []commitment.ReservedInstance{
			{ID: "r", InstanceType: "m5.large", Count: 2, Zone: "a", Start: now.AddDate(-1, 0, 0), End: end, PerHour: 0.1},
			{ID: "queued", InstanceType: "m5.large", Count: 2, Start: end.AddDate(0, 0, 20), End: end.AddDate(0, 0, 21)},
			{ID: "endless", InstanceType: "m5.large", Count: 2, Start: now.AddDate(-1, 0, 0)},
		},
		Plans: []commitment.SavingsPlan{
			{ID: "sp", Family: "m5", PerHour: 0.5, Start: now.AddDate(-1, 0, 0), End: end.Add(time.Hour)},
		},
	}
	told := map[string]time.Duration{}
	var last *commitment.Reading
	for hour := range 40 * 24 {
		at := now.Add(time.Duration(hour) * time.Hour)
		reading := &commitment.Reading{Time: at, Ending: facts.Ending(at)}
		for _, one := range reading.Untold(last) {
			if _, twice := told[one.Key()]; twice {
				t.Errorf("%s is told twice", one.Key())
			}
			told[one.Key()] = one.Ends.Sub(at)
		}
		last = reading
	}
	const day = 24 * time.Hour
	want := map[string]time.Duration{"r@30": 30 * day, "r@7": 7 * day, "sp@30": 30 * day, "sp@7": 7 * day}
	if fmt.Sprint(told) != fmt.Sprint(want) {
		t.Errorf("told %v, want %v", told, want)
	}
	if len(last.Ending) != 0 {
		t.Errorf("after the end it says %v", last.Ending)
	}
}

// TestANoticeSaysWhatEnds names the purchase, the end and what to do.
func TestANoticeSaysWhatEnds(t *testing.T) {
	facts := commitment.Facts{}
	for n := range 50 {
		facts.Plans = append(facts.Plans, commitment.SavingsPlan{
			ID: fmt.Sprintf("sp-%02d", n), PerHour: 0.5, End: now.Add(time.Duration(50-n) * time.Hour),
		})
	}
	ending := facts.Ending(now)
	if len(ending) != 20 || ending[0].ID != "sp-49" {
		t.Fatalf("%d notices, the first of %+v", len(ending), ending[0])
	}
	for _, want := range []string{
		"Compute Savings Plan sp-49 (any family, Fargate and Lambda, $0.5000/h) ends on 2026-11-02 13:00 UTC, in 7 days or less",
		"buy another before",
	} {
		if !strings.Contains(ending[0].String(), want) {
			t.Errorf("%q lacks %q", ending[0].String(), want)
		}
	}
	// A plan that was bought again under the same name is told again.
	again := commitment.Reading{Ending: []commitment.Ending{{ID: "sp", Days: 7, Ends: now}}}
	before := commitment.Reading{Ending: []commitment.Ending{{ID: "sp", Days: 7, Ends: now.AddDate(-1, 0, 0)}}}
	if len(again.Untold(&before)) != 1 || len(again.Untold(&again)) != 0 || len(again.Untold(nil)) != 1 {
		t.Error("an end of another year counts as told")
	}
}
