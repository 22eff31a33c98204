package hours

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Schedule is a cron schedule in a time zone.
type Schedule struct {
	// fields fire at wall times, which they see as times in UTC.
	fields *cron.SpecSchedule
	zone   *time.Location
}

// everyHour is the bit by which the cron library says that a field is *.
const everyHour = 1 << 63

// ParseSchedule parses five cron fields or one of @annually, @yearly, @monthly, @weekly, @daily,
// @midnight and @hourly, in the zone. The error gives the problem and its remedy, without the text.
// Nothing else may parse a schedule, because the cron library panics on some time zones, and searches
// for seconds where a field has no value.
func ParseSchedule(schedule string, zone *time.Location) (Schedule, error) {
	text := strings.TrimSpace(schedule)
	switch {
	case strings.HasPrefix(text, "@every"):
		return Schedule{}, fmt.Errorf("is not a schedule: use five cron fields instead of @every")
	case strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ="):
		return Schedule{}, fmt.Errorf(
			"is not a schedule: its time zone stands beside it, in timeZone or the annotation whittle.dev/time-zone")
	}
	parsed, err := cron.ParseStandard("TZ=UTC " + text)
	if err != nil {
		return Schedule{}, fmt.Errorf(
			"is not a schedule: use five cron fields such as \"0 9 * * mon-fri\", or @daily and the like (%w)", err)
	}
	fields, ok := parsed.(*cron.SpecSchedule)
	if !ok || fields.Minute == 0 || fields.Hour == 0 || fields.Dom == 0 || fields.Month == 0 || fields.Dow == 0 {
		return Schedule{}, fmt.Errorf("is not a schedule: one of its fields has no value, write * for every value")
	}
	return Schedule{fields: fields, zone: zone}, nil
}

// Next is the first time after t at which the schedule fires, or zero if there is none in five years.
func (s Schedule) Next(t time.Time) time.Time {
	now := stretchAt(t, s.zone)
	// after is the wall time after which the schedule may fire, and shown the latest that the clock has shown.
	after, shown := t.Add(now.offset).UTC(), time.Time{}
	if !now.start.IsZero() {
		shown = now.start.Add(stretchAt(now.start.Add(-time.Nanosecond), s.zone).offset).UTC()
	}
	for {
		if s.fields.Hour&everyHour == 0 && after.Before(shown) { // the clock shows this hour again
			after = shown.Add(-time.Nanosecond)
		}
		wall := s.fields.Next(after)
		if wall.IsZero() {
			return time.Time{}
		}
		instant := wall.Add(-now.offset)
		if now.contains(instant) {
			return instant.UTC()
		}
		shown = now.end.Add(now.offset).UTC()
		now = stretchAt(now.end, s.zone)
		begins := now.start.Add(now.offset).UTC()
		if begins.After(shown) && wall.Before(begins) { // the clock jumps over the wall time
			return now.start.UTC()
		}
		after = begins.Add(-time.Nanosecond)
	}
}

// Active tells whether the schedule fired within the duration before now.
func (s Schedule) Active(now time.Time, duration time.Duration) bool {
	next := s.Next(now.Add(-duration))
	return !next.IsZero() && !next.After(now)
}
