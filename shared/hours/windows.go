package hours

import (
	"time"
)

const (
	// horizon is how far Next looks ahead: more than a year, so that it finds a window of each year.
	horizon = 400 * 24 * time.Hour
	// maximumSteps bounds how many windows Next joins that follow each other without a pause.
	maximumSteps = 2000
)

// Windows are times in a time zone, such as those at which a NodePool sleeps. The zero value has none.
// They never change, so that copies may share them.
type Windows struct {
	list []window
	zone *time.Location
}

// window is one entry of Windows. It occurs again and again.
type window interface {
	// until is the end of an occurrence that contains the time, or zero if none does.
	until(t time.Time) time.Time
	// next is the start of the first occurrence after the time, or zero if there is none.
	next(t time.Time) time.Time
}

// Empty tells whether there is no window.
func (w Windows) Empty() bool { return len(w.list) == 0 }

// Zone is the windows' time zone.
func (w Windows) Zone() *time.Location {
	if w.zone == nil {
		return time.UTC
	}
	return w.zone
}

// Inside tells whether the time is inside of a window.
func (w Windows) Inside(t time.Time) bool { return !w.until(t).IsZero() }

// Covers tells whether the windows contain the time and all that follows it within the duration. A
// window that ends with the duration does not cover it.
func (w Windows) Covers(t time.Time, duration time.Duration) bool {
	end, inside := w.end(t, t.Add(duration))
	return inside && (end.IsZero() || end.After(t.Add(duration)))
}

// Next is the first time after t at which Inside changes, or zero if it does not change in a year.
func (w Windows) Next(t time.Time) time.Time {
	limit := t.Add(horizon)
	if end, inside := w.end(t, limit); inside {
		if end.After(limit) {
			return time.Time{}
		}
		return end
	}
	return w.start(t)
}

// start is the start of the first window after the time, or zero.
func (w Windows) start(t time.Time) time.Time {
	var soonest time.Time
	for _, window := range w.list {
		if next := window.next(t); !next.IsZero() && (soonest.IsZero() || next.Before(soonest)) {
			soonest = next
		}
	}
	return soonest
}

// end is when the windows end that contain the time, one after the other. It need not look further than
// the limit. It is zero where it finds no end.
func (w Windows) end(t, limit time.Time) (end time.Time, inside bool) {
	end = t
	for range maximumSteps {
		until := w.until(end)
		if until.IsZero() {
			return end, end.After(t)
		}
		if end = until; end.After(limit) {
			return end, true
		}
	}
	return time.Time{}, true
}

// until is the latest end of the occurrences that contain the time, or zero if none does.
func (w Windows) until(t time.Time) time.Time {
	var latest time.Time
	for _, window := range w.list {
		if until := window.until(t); until.After(latest) {
			latest = until
		}
	}
	return latest
}

// cronWindow begins when the schedule fires and lasts for the duration.
type cronWindow struct {
	schedule Schedule
	duration time.Duration
}

func (w cronWindow) until(t time.Time) time.Time {
	if fired := w.schedule.Next(t.Add(-w.duration)); !fired.IsZero() && !fired.After(t) {
		return fired.Add(w.duration)
	}
	return time.Time{}
}

func (w cronWindow) next(t time.Time) time.Time { return w.schedule.Next(t) }

// dayWindow is a part of chosen days by wall time.
type dayWindow struct {
	// days are those on which it begins, by time.Weekday.
	days [7]bool
	// from and to are minutes since midnight. A window whose end is not after its start ends on the next
	// day.
	from, to int
	zone     *time.Location
}

// occurrence is the window that begins on the date. An occurrence that a clock change leaves out ends
// when it begins.
func (w dayWindow) occurrence(date time.Time) (start, end time.Time) {
	ends := w.to
	if w.to <= w.from {
		ends += minutesOfDay
	}
	return First(atMinute(date, w.from), w.zone), First(atMinute(date, ends), w.zone)
}

func atMinute(date time.Time, minute int) time.Time {
	return date.Add(time.Duration(minute) * time.Minute)
}

func (w dayWindow) until(t time.Time) time.Time {
	today := dateOf(t, w.zone)
	for days := -2; days <= 1; days++ {
		date := today.AddDate(0, 0, days)
		if !w.days[date.Weekday()] {
			continue
		}
		if start, end := w.occurrence(date); !t.Before(start) && t.Before(end) {
			return end
		}
	}
	return time.Time{}
}

func (w dayWindow) next(t time.Time) time.Time {
	today := dateOf(t, w.zone)
	// Two weeks have each day at least once that no clock change leaves out.
	for days := -1; days <= 14; days++ {
		date := today.AddDate(0, 0, days)
		if !w.days[date.Weekday()] {
			continue
		}
		if start, end := w.occurrence(date); start.After(t) && end.After(start) {
			return start
		}
	}
	return time.Time{}
}

// dateOf is the midnight of the day that the zone's clock shows, as a wall time.
func dateOf(t time.Time, zone *time.Location) time.Time {
	return wallOf(t, zone).Truncate(24 * time.Hour)
}
