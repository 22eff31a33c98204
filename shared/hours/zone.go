package hours

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // provided.al2023 need not have the zone database
)

// maximumZoneName bounds the names that are looked up.
const maximumZoneName = 64

// Zone returns the time zone of an IANA name, and UTC for an empty one. The error gives the problem
// and its remedy, without the name.
func Zone(name string) (*time.Location, error) {
	if name == "" || name == "UTC" {
		return time.UTC, nil
	}
	// LoadLocation reads "Local" as the zone of the machine, and names of three letters as zones without
	// clock changes.
	if len(name) > maximumZoneName || name == "Local" || strings.TrimSpace(name) != name {
		return nil, errZone()
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, errZone()
	}
	return zone, nil
}

func errZone() error {
	return fmt.Errorf("is not a time zone: write an IANA name such as Europe/Berlin, or UTC")
}

// stretch is a time with one offset from UTC in a zone. A zero start or end has no bound.
type stretch struct {
	start, end time.Time
	offset     time.Duration
}

// stretchAt is the stretch that contains the time.
func stretchAt(t time.Time, zone *time.Location) stretch {
	local := t.In(zone)
	start, end := local.ZoneBounds()
	_, seconds := local.Zone()
	return stretch{start: start, end: end, offset: time.Duration(seconds) * time.Second}
}

// contains tells whether the stretch has not ended at the time.
func (s stretch) contains(t time.Time) bool { return s.end.IsZero() || t.Before(s.end) }

// wallOf is what the clock shows at the time, as a time in UTC.
func wallOf(t time.Time, zone *time.Location) time.Time {
	return t.Add(stretchAt(t, zone).offset).UTC()
}

// furthest is more than any offset from UTC, and more than a day that a zone leaves out.
const furthest = 48 * time.Hour

// First is the first instant at which the zone's clock shows the wall time, which is given as a time in UTC, or
// a later one.
func First(wall time.Time, zone *time.Location) time.Time {
	t := wall.Add(-furthest)
	for {
		s := stretchAt(t, zone)
		instant := wall.Add(-s.offset)
		switch {
		case instant.Before(s.start): // the clock jumped over the wall time
			return s.start.UTC()
		case s.contains(instant):
			return instant.UTC()
		}
		t = s.end
	}
}
