package expression

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// cron is AWS's six fields: minutes, hours, day of month, month, day of week (1 is Sunday), year.
type cron struct {
	zone                          *time.Location
	minutes, hours, months, years set
	// day decides on a date by the one of the two day fields that is not "?".
	day func(date time.Time) bool
}

// set holds the values of a field; nil means all.
type set map[int]bool

func (s set) has(value int) bool { return s == nil || s[value] }

var (
	monthNames = []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}
	dayNames   = []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}
)

const lastYear = 2199

func parseCron(text string, zone *time.Location) (*cron, error) {
	fields := strings.Fields(text)
	if len(fields) != 6 {
		return nil, fmt.Errorf("cron has %d fields; it takes six: minutes hours day-of-month month day-of-week year",
			len(fields))
	}
	c := &cron{zone: zone}
	for _, field := range []struct {
		name            string
		text            string
		lowest, highest int
		names           []string
		to              *set
	}{
		{"minutes", fields[0], 0, 59, nil, &c.minutes},
		{"hours", fields[1], 0, 23, nil, &c.hours},
		{"month", fields[3], 1, 12, monthNames, &c.months},
		{"year", fields[5], 1970, lastYear, nil, &c.years},
	} {
		values, err := parseField(field.text, field.lowest, field.highest, field.names)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", field.name, err)
		}
		*field.to = values
	}
	dayOfMonth, dayOfWeek := fields[2], fields[4]
	var err error
	switch {
	case dayOfMonth == "?" && dayOfWeek == "?", dayOfMonth != "?" && dayOfWeek != "?":
		return nil, errors.New("exactly one of day-of-month and day-of-week must be ?")
	case dayOfWeek == "?":
		if c.day, err = parseDayOfMonth(dayOfMonth); err != nil {
			return nil, fmt.Errorf("field day-of-month: %w", err)
		}
	default:
		if c.day, err = parseDayOfWeek(dayOfWeek); err != nil {
			return nil, fmt.Errorf("field day-of-week: %w", err)
		}
	}
	return c, nil
}

// parseField reads lists, ranges, steps and names: "1-5", "MON,WED", "0/15", "*".
func parseField(text string, lowest, highest int, names []string) (set, error) {
	if text == "*" {
		return nil, nil
	}
	values := set{}
	for part := range strings.SplitSeq(text, ",") {
		span, stepText, stepped := strings.Cut(part, "/")
		step := 1
		if stepped {
			n, err := strconv.Atoi(stepText)
			if err != nil || n < 1 {
				return nil, fmt.Errorf("the step in %q must be a whole number above zero", part)
			}
			step = n
		}
		from, to := lowest, highest
		if span != "*" {
			first, last, isRange := strings.Cut(span, "-")
			var err error
			if from, err = parseValue(first, lowest, highest, names); err != nil {
				return nil, err
			}
			switch {
			case isRange:
				if to, err = parseValue(last, lowest, highest, names); err != nil {
					return nil, err
				}
			case !stepped:
				to = from
			}
		}
		if to < from {
			// FRI-MON goes round the end.
			for value := from; value <= highest; value += step {
				values[value] = true
			}
			from = lowest
		}
		for value := from; value <= to; value += step {
			values[value] = true
		}
	}
	return values, nil
}

func parseValue(text string, lowest, highest int, names []string) (int, error) {
	for i, name := range names {
		if strings.EqualFold(text, name) {
			return lowest + i, nil
		}
	}
	value, err := strconv.Atoi(text)
	if err != nil || value < lowest || value > highest {
		return 0, fmt.Errorf("%q is not from %d to %d", text, lowest, highest)
	}
	return value, nil
}

// parseDayOfMonth knows L (the last day) and 15W (the weekday nearest to the 15th) beside the
// common forms.
func parseDayOfMonth(text string) (func(time.Time) bool, error) {
	if text == "L" {
		return func(d time.Time) bool { return d.Day() == daysIn(d) }, nil
	}
	if dayText, ok := strings.CutSuffix(text, "W"); ok {
		day, err := parseValue(dayText, 1, 31, nil)
		if err != nil {
			return nil, err
		}
		return func(d time.Time) bool { return d.Day() == nearestWeekday(d, day) }, nil
	}
	values, err := parseField(text, 1, 31, nil)
	return func(d time.Time) bool { return values.has(d.Day()) }, err
}

// parseDayOfWeek knows 6L (the last Friday) and 3#2 (the second Tuesday) beside the common forms.
func parseDayOfWeek(text string) (func(time.Time) bool, error) {
	if text == "L" {
		text = "7"
	}
	if dayText, ok := strings.CutSuffix(text, "L"); ok {
		day, err := parseValue(dayText, 1, 7, dayNames)
		if err != nil {
			return nil, err
		}
		return func(d time.Time) bool { return int(d.Weekday())+1 == day && d.Day()+7 > daysIn(d) }, nil
	}
	if dayText, nthText, ok := strings.Cut(text, "#"); ok {
		day, err := parseValue(dayText, 1, 7, dayNames)
		if err != nil {
			return nil, err
		}
		nth, err := parseValue(nthText, 1, 5, nil)
		if err != nil {
			return nil, err
		}
		return func(d time.Time) bool { return int(d.Weekday())+1 == day && (d.Day()-1)/7+1 == nth }, nil
	}
	values, err := parseField(text, 1, 7, dayNames)
	return func(d time.Time) bool { return values.has(int(d.Weekday()) + 1) }, err
}

func daysIn(d time.Time) int { return time.Date(d.Year(), d.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day() }

// nearestWeekday stays within the month; a day that the month does not have matches nothing (0).
func nearestWeekday(d time.Time, day int) int {
	if day > daysIn(d) {
		return 0
	}
	switch weekday := time.Date(d.Year(), d.Month(), day, 0, 0, 0, 0, time.UTC).Weekday(); {
	case weekday == time.Saturday && day == 1:
		return 3
	case weekday == time.Saturday:
		return day - 1
	case weekday == time.Sunday && day == daysIn(d):
		return day - 2
	case weekday == time.Sunday:
		return day + 1
	default:
		return day
	}
}

// next goes day by day to the end of the years that AWS knows, and within a matching day minute by
// minute.
func (c *cron) next(after time.Time) time.Time {
	local := after.In(c.zone)
	date := time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, time.UTC)
	for date.Year() <= lastYear {
		switch {
		case !c.years.has(date.Year()):
			date = time.Date(date.Year()+1, 1, 1, 0, 0, 0, 0, time.UTC)
			continue
		case !c.months.has(int(date.Month())):
			date = time.Date(date.Year(), date.Month()+1, 1, 0, 0, 0, 0, time.UTC)
			continue
		case c.day(date):
			if found := c.nextOn(date, after); !found.IsZero() {
				return found
			}
		}
		date = date.AddDate(0, 0, 1)
	}
	return time.Time{}
}

func (c *cron) nextOn(date, after time.Time) time.Time {
	for hour := range 24 {
		if !c.hours.has(hour) {
			continue
		}
		for minute := range 60 {
			if !c.minutes.has(minute) {
				continue
			}
			// A time that the change to summer time leaves out comes out an hour later and is
			// skipped, as AWS skips it.
			moment := time.Date(date.Year(), date.Month(), date.Day(), hour, minute, 0, 0, c.zone)
			if moment.After(after) && moment.Hour() == hour {
				return moment
			}
		}
	}
	return time.Time{}
}
