package commitment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// mostEndings bounds the notices of one account. Those that end first are told.
const mostEndings = 20

// noticeDays are the days before a commitment's end on which people are told, the last one first.
func noticeDays() [2]int { return [2]int{7, 30} }

// Ending is a notice that a purchase ends soon. Prices count its units no more from then on.
type Ending struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	// Covers is what it pays for, and PerHour what it costs.
	Covers  string    `json:"covers"`
	PerHour float64   `json:"perHour"`
	Ends    time.Time `json:"ends"`
	// Days is the notice: 30 or 7 days before the end at most.
	Days int `json:"days"`
}

// Key names the notice. Each is told once.
func (e *Ending) Key() string { return fmt.Sprintf("%s@%d", e.ID, e.Days) }

// String is the notice with what a person can do.
func (e *Ending) String() string {
	return fmt.Sprintf("%s %s (%s, $%.4f/h) ends on %s, in %d days or less: buy another before, or its nodes cost their "+
		"on-demand price from then on", e.Kind, e.ID, e.Covers, e.PerHour, e.Ends.UTC().Format("2006-01-02 15:04 UTC"),
		e.Days)
}

// Ending are the purchases that hold and end soon, the first end first.
func (f *Facts) Ending(now time.Time) []Ending {
	var soon []Ending
	add := func(one Ending, start time.Time) {
		left := one.Ends.Sub(now)
		if one.Ends.IsZero() || now.Before(start) || left <= 0 {
			return
		}
		for _, days := range noticeDays() {
			if left <= time.Duration(days)*24*time.Hour {
				one.Days = days
				soon = append(soon, one)
				return
			}
		}
	}
	for i := range f.Reserved {
		p := &f.Reserved[i]
		where := "in the region"
		if p.Zone != "" {
			where = "in " + p.Zone
		}
		add(Ending{
			ID: p.ID, Kind: KindReserved, Covers: fmt.Sprintf("%d × %s %s", p.Count, p.InstanceType, where),
			PerHour: p.PerHour, Ends: p.End,
		}, p.Start)
	}
	for i := range f.Plans {
		p := &f.Plans[i]
		stock := Stock{Kind: KindSavingsPlan, Family: p.Family}
		use := stock.Use()
		add(Ending{ID: p.ID, Kind: use.Kind, Covers: use.Covers, PerHour: p.PerHour, Ends: p.End}, p.Start)
	}
	slices.SortFunc(soon, func(a, b Ending) int {
		return cmp.Or(a.Ends.Compare(b.Ends), strings.Compare(a.ID, b.ID))
	})
	return soon[:min(len(soon), mostEndings)]
}

// Untold are the notices that an earlier reading did not have.
func (r *Reading) Untold(earlier *Reading) []Ending {
	var untold []Ending
	for _, one := range r.Ending {
		known := func(e Ending) bool { return e.Key() == one.Key() && e.Ends.Equal(one.Ends) }
		if earlier == nil || !slices.ContainsFunc(earlier.Ending, known) {
			untold = append(untold, one)
		}
	}
	return untold
}
