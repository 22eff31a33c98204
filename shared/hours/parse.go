package hours

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	minutesOfDay = 24 * 60
	// maximumText and maximumWindows bound the work of a pass.
	maximumText    = 4096
	maximumWindows = 50
	// maximumDuration is the longest window by cron.
	maximumDuration = 31 * 24 * time.Hour
)

// Examples are windows that people can begin from.
const Examples = `"Sun-Fri 20:00-07:00; Sat,Sun" or "0 20 * * mon-fri for 11h"`

// Parse reads windows in the zone. Windows are separated by semicolons. Each is one of these:
//
//	Mon-Fri 20:00-07:00          days and hours: it begins on the days, and ends on the next day
//	Mon,Wed 12:00-13:00,18:00-20:00
//	Sat,Sun                      whole days
//	22:00-06:00                  hours of every day
//	0 20 * * mon-fri for 11h     five cron fields, or @daily and the like, and the duration
//
// Days are Mon, Tue, Wed, Thu, Fri, Sat and Sun, in any case. A range may go over the end of the week.
// Hours are from 00:00 to 24:00. The error gives the problem and its remedy, without the whole text.
func Parse(text string, zone *time.Location) (Windows, error) {
	if len(text) > maximumText {
		return Windows{}, fmt.Errorf("has %d characters: use at most %d", len(text), maximumText)
	}
	windows := Windows{zone: zone}
	for part := range strings.SplitSeq(text, ";") {
		read, err := parseWindow(strings.Fields(part), zone)
		if err != nil {
			return Windows{}, err
		}
		if windows.list = append(windows.list, read...); len(windows.list) > maximumWindows {
			return Windows{}, fmt.Errorf("has more than %d windows: remove some", maximumWindows)
		}
	}
	return windows, nil
}

// parseWindow reads what stands between two semicolons.
func parseWindow(words []string, zone *time.Location) ([]window, error) {
	if len(words) == 0 {
		return nil, fmt.Errorf("has an empty window: write windows such as %s", Examples)
	}
	if len(words) > 2 && words[len(words)-2] == "for" {
		read, err := parseCron(strings.Join(words[:len(words)-2], " "), words[len(words)-1], zone)
		return []window{read}, err
	}
	days, times := words[0], ""
	switch {
	case len(words) == 2:
		times = words[1]
	case len(words) > 2:
		return nil, fmt.Errorf("has the window %q: separate windows by semicolons, and end one by cron with a "+
			"duration, such as %s", strings.Join(words, " "), Examples)
	case strings.Contains(days, ":"):
		days, times = "Mon-Sun", days
	}
	return parseDays(days, times, zone)
}

func parseCron(schedule, lasts string, zone *time.Location) (window, error) {
	parsed, err := ParseSchedule(schedule, zone)
	if err != nil {
		return nil, fmt.Errorf("has the schedule %q, which %w", schedule, err)
	}
	duration, err := time.ParseDuration(lasts)
	if err != nil || duration < time.Minute || duration > maximumDuration || duration%time.Minute != 0 {
		return nil, fmt.Errorf("has the duration %q: write hours and minutes such as 11h or 1h30m, at most 744h", lasts)
	}
	return cronWindow{schedule: parsed, duration: duration}, nil
}

// parseDays reads days and their hours. No hours are the whole days.
func parseDays(days, times string, zone *time.Location) ([]window, error) {
	var chosen [7]bool
	for part := range strings.SplitSeq(days, ",") {
		if err := addDays(&chosen, part); err != nil {
			return nil, err
		}
	}
	if times == "" {
		times = "00:00-24:00"
	}
	var list []window
	for part := range strings.SplitSeq(times, ",") {
		from, to, err := parseTimes(part)
		if err != nil {
			return nil, err
		}
		list = append(list, dayWindow{days: chosen, from: from, to: to, zone: zone})
	}
	return list, nil
}

// addDays adds a day or a range of days.
func addDays(chosen *[7]bool, text string) error {
	low, high, isRange := strings.Cut(text, "-")
	begins, known := weekday(low)
	ends := begins
	if isRange && known {
		ends, known = weekday(high)
	}
	if !known {
		return fmt.Errorf("has the day %q: write Mon, Tue, Wed, Thu, Fri, Sat, Sun or a range such as Mon-Fri", text)
	}
	for day := begins; ; day = (day + 1) % 7 {
		chosen[day] = true
		if day == ends {
			return nil
		}
	}
}

func weekday(text string) (time.Weekday, bool) {
	for day := time.Sunday; day <= time.Saturday; day++ {
		if strings.EqualFold(text, day.String()[:3]) {
			return day, true
		}
	}
	return 0, false
}

// parseTimes reads two wall times as minutes since midnight.
func parseTimes(text string) (from, to int, err error) {
	begins, ends, isRange := strings.Cut(text, "-")
	from, fromKnown := minuteOf(begins)
	to, toKnown := minuteOf(ends)
	switch {
	case !isRange || !fromKnown || !toKnown || from == minutesOfDay:
		return 0, 0, fmt.Errorf("has the hours %q: write a start and an end such as 20:00-07:00, from 00:00 to 24:00", text)
	case from == to:
		return 0, 0, fmt.Errorf("has the hours %q, which end when they begin: write the days alone for whole days", text)
	}
	return from, to, nil
}

// minuteOf reads a time such as 07:30, with two digits on both sides.
func minuteOf(text string) (int, bool) {
	hour, minute, two := strings.Cut(text, ":")
	if !two || len(hour) != 2 || len(minute) != 2 {
		return 0, false
	}
	h, err := strconv.ParseUint(hour, 10, 8)
	if err != nil {
		return 0, false
	}
	m, err := strconv.ParseUint(minute, 10, 8)
	if err != nil || m > 59 || h > 24 || h == 24 && m > 0 {
		return 0, false
	}
	return int(h)*60 + int(m), true
}
