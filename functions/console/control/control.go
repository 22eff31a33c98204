package control

import (
	"fmt"
	"time"

	"github.com/whittle-dev/whittle/shared/hours"
)

// longest is how far ahead the end of a sleep may be. A mistaken year would otherwise keep a cluster
// asleep.
const longest = 366 * 24 * time.Hour

// Sleep is what a person orders.
type Sleep struct {
	// Until is when one sleep ends: a duration, a time such as 07:00, or a date with a time.
	Until string
	// Windows are those of a sleep that comes again, or None to remove them.
	Windows string
	// Zone is the IANA name of the zone of both, or empty for that of the order so far.
	Zone   string
	Reason string
}

// None removes the windows.
const None = "none"

// Changes are keys of the ConfigMap with their new values. An empty value removes its key.
type Changes map[string]string

// Of are the changes for the sleep, and what they come to for people. So far is the order as it is, or
// nil. The error names the flag.
func Of(s Sleep, soFar *hours.Order, now time.Time) (changes Changes, says string, err error) {
	zone, err := zoneOf(s.Zone, soFar)
	if err != nil {
		return nil, "", fmt.Errorf("-time-zone: %q %w", s.Zone, err)
	}
	changes = Changes{hours.OrderTimeZone: zone.String(), hours.OrderReason: s.Reason, hours.OrderAwakeUntil: ""}
	switch {
	case s.Until != "" && s.Windows != "":
		return nil, "", fmt.Errorf("-until and -windows are two orders: give one of them")
	case s.Until != "":
		end, err := endOf(s.Until, zone, now)
		if err != nil {
			return nil, "", fmt.Errorf("-until: %q %w", s.Until, err)
		}
		changes[hours.OrderSleepUntil] = end.UTC().Format(time.RFC3339)
		return changes, "the cluster sleeps until " + hours.Text(end, zone), nil
	case s.Windows == None:
		changes[hours.OrderSleep] = ""
		return changes, "the cluster sleeps by no windows", nil
	case s.Windows != "":
		windows, err := hours.Parse(s.Windows, zone)
		if err != nil {
			return nil, "", fmt.Errorf("-windows: %q %w", s.Windows, err)
		}
		changes[hours.OrderSleep] = s.Windows
		return changes, saysOf(windows, now), nil
	}
	return nil, "", fmt.Errorf("give -until with a duration or a time, or -windows such as %s", hours.Examples)
}

func saysOf(windows hours.Windows, now time.Time) string {
	next := windows.Next(now)
	switch {
	case windows.Inside(now) && next.IsZero():
		return "the cluster sleeps for more than a year"
	case windows.Inside(now):
		return "the cluster sleeps until " + hours.Text(next, windows.Zone())
	case next.IsZero():
		return "the cluster does not sleep within a year"
	}
	return "the cluster sleeps from " + hours.Text(next, windows.Zone())
}

// Wake are the changes that end the sleep, and what they come to for people. Windows stay, and count
// again after the one that is open now.
func Wake(soFar *hours.Order, now time.Time) (changes Changes, says string) {
	if soFar == nil {
		return nil, "the cluster does not sleep by an order"
	}
	changes = Changes{hours.OrderSleepUntil: ""}
	if !soFar.Windows.Inside(now) {
		if soFar.Windows.Empty() {
			changes[hours.OrderReason] = ""
			return changes, "the cluster is awake"
		}
		return changes, "the cluster is awake: " + saysOf(soFar.Windows, now)
	}
	end := soFar.Windows.Next(now)
	if end.IsZero() {
		changes[hours.OrderSleep] = ""
		return changes, "the cluster is awake: its windows had no end, and are removed"
	}
	changes[hours.OrderAwakeUntil] = end.UTC().Format(time.RFC3339)
	return changes, "the cluster is awake: its windows count again after " + hours.Text(end, soFar.Windows.Zone())
}

func zoneOf(name string, soFar *hours.Order) (*time.Location, error) {
	if name == "" && soFar != nil {
		return soFar.Windows.Zone(), nil
	}
	return hours.Zone(name)
}

// endOf reads the end of a sleep.
func endOf(text string, zone *time.Location, now time.Time) (time.Time, error) {
	end, err := parseEnd(text, zone, now)
	switch {
	case err != nil:
		return time.Time{}, err
	case !end.After(now):
		return time.Time{}, fmt.Errorf("has passed: write a later time, or a duration such as 10h")
	case end.Sub(now) > longest:
		return time.Time{}, fmt.Errorf("is more than a year away: write an earlier time, or -windows")
	}
	return end, nil
}

func parseEnd(text string, zone *time.Location, now time.Time) (time.Time, error) {
	if duration, err := time.ParseDuration(text); err == nil {
		return now.Add(duration).Truncate(time.Second), nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02T15:04"} {
		if wall, err := time.Parse(layout, text); err == nil {
			return hours.First(wall, zone), nil
		}
	}
	if clock, err := time.Parse("15:04", text); err == nil {
		year, month, day := now.In(zone).Date()
		for days := 0; ; days++ { // the next time that the clock shows it
			end := hours.First(time.Date(year, month, day+days, clock.Hour(), clock.Minute(), 0, 0, time.UTC), zone)
			if end.After(now) {
				return end, nil
			}
		}
	}
	return time.Time{}, fmt.Errorf(
		"is neither a duration nor a time: write such as 10h, 07:00, \"2026-03-02 07:00\" or 2026-03-02T07:00:00Z")
}
