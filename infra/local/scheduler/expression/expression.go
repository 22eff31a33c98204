package expression

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Expression says when a schedule runs.
type Expression struct {
	text string
	// Rate is the period of a rate expression; 0 for others.
	Rate time.Duration
	// At is the one moment of an at expression; zero for others.
	At   time.Time
	cron *cron
}

var rateForm = regexp.MustCompile(`^rate\(\s*(\d+)\s+(minute|minutes|hour|hours|day|days)\s*\)$`)

// Parse reads an expression; cron and at are meant in the time zone. The error names the part that
// is wrong.
func Parse(text string, zone *time.Location) (Expression, error) {
	e := Expression{text: text}
	kind, rest, _ := strings.Cut(text, "(")
	inner, closed := strings.CutSuffix(rest, ")")
	if !closed {
		return e, fmt.Errorf("schedule expression %q: it must be rate(...), cron(...) or at(...)", text)
	}
	switch kind {
	case "rate":
		parts := rateForm.FindStringSubmatch(text)
		if parts == nil {
			return e, fmt.Errorf(
				"schedule expression %q: a rate is a whole number and minute, minutes, hour, hours, day or days", text)
		}
		n, err := strconv.Atoi(parts[1])
		if err != nil || n < 1 || n > 1_000_000 {
			return e, fmt.Errorf("schedule expression %q: the rate must be from 1 to 1000000", text)
		}
		unit := map[string]time.Duration{
			"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour,
		}[strings.TrimSuffix(parts[2], "s")]
		e.Rate = time.Duration(n) * unit
	case "at":
		at, err := time.ParseInLocation("2006-01-02T15:04:05", inner, zone)
		if err != nil {
			return e, fmt.Errorf("schedule expression %q: the time must be of the form 2006-01-02T15:04:05", text)
		}
		e.At = at
	case "cron":
		parsed, err := parseCron(inner, zone)
		if err != nil {
			return e, fmt.Errorf("schedule expression %q: %w", text, err)
		}
		e.cron = parsed
	default:
		return e, fmt.Errorf("schedule expression %q: it must be rate(...), cron(...) or at(...)", text)
	}
	return e, nil
}

// String is the expression as it was written.
func (e Expression) String() string { return e.text }

// Next is the first time after the given one at which the schedule runs, the zero time if there is
// none. Rates count from start.
func (e Expression) Next(start, after time.Time) time.Time {
	switch {
	case e.Rate > 0:
		if after.Before(start) {
			return start
		}
		return start.Add((after.Sub(start)/e.Rate + 1) * e.Rate)
	case e.cron != nil:
		return e.cron.next(after)
	case e.At.After(after):
		return e.At
	default:
		return time.Time{}
	}
}
