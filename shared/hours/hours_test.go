package hours_test

import (
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/hours"
)

const (
	berlin   = "Europe/Berlin"
	newYork  = "America/New_York"
	santiago = "America/Santiago"
	lordHowe = "Australia/Lord_Howe"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := hours.Zone(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func parse(t *testing.T, text, name string) hours.Windows {
	t.Helper()
	windows, err := hours.Parse(text, zone(t, name))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return windows
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	moment, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return moment.UTC()
}

// TestClockChanges has the two nights of a clock change in four zones. Times are in UTC.
func TestClockChanges(t *testing.T) {
	for _, test := range []struct {
		name, zone, windows, from string
		want                      []string // the next changes after from; the first one is a start
	}{
		// The clock goes from 02:00 to 03:00 on 29 March, and from 03:00 to 02:00 on 25 October.
		{"spring, the night is an hour shorter", berlin, "20:00-07:00", "2026-03-28T12:00:00Z",
			[]string{"2026-03-28T19:00:00Z", "2026-03-29T05:00:00Z", "2026-03-29T18:00:00Z", "2026-03-30T05:00:00Z"}},
		{"spring, it begins in the gap", berlin, "02:30-06:00", "2026-03-28T12:00:00Z",
			[]string{"2026-03-29T01:00:00Z", "2026-03-29T04:00:00Z"}},
		{"spring, it ends in the gap", berlin, "01:00-02:30", "2026-03-28T12:00:00Z",
			[]string{"2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z"}},
		{"spring, all of it is in the gap", berlin, "02:10-02:50", "2026-03-28T12:00:00Z",
			[]string{"2026-03-30T00:10:00Z", "2026-03-30T00:50:00Z"}},
		{"spring, cron in the gap", berlin, "30 2 * * * for 3h", "2026-03-28T12:00:00Z",
			[]string{"2026-03-29T01:00:00Z", "2026-03-29T04:00:00Z", "2026-03-30T00:30:00Z"}},
		{"spring, cron lasts its time", berlin, "0 22 * * * for 9h", "2026-03-28T12:00:00Z",
			[]string{"2026-03-28T21:00:00Z", "2026-03-29T06:00:00Z"}},
		{"autumn, the night is an hour longer", berlin, "20:00-07:00", "2026-10-24T12:00:00Z",
			[]string{"2026-10-24T18:00:00Z", "2026-10-25T06:00:00Z", "2026-10-25T19:00:00Z"}},
		{"autumn, it begins in the repeated hour", berlin, "02:30-06:00", "2026-10-24T12:00:00Z",
			[]string{"2026-10-25T00:30:00Z", "2026-10-25T05:00:00Z"}},
		{"autumn, it ends in the repeated hour", berlin, "01:00-02:30", "2026-10-24T12:00:00Z",
			[]string{"2026-10-24T23:00:00Z", "2026-10-25T00:30:00Z", "2026-10-26T00:00:00Z"}},
		{"autumn, cron fires once", berlin, "30 2 * * * for 20m", "2026-10-24T12:00:00Z",
			[]string{"2026-10-25T00:30:00Z", "2026-10-25T00:50:00Z", "2026-10-26T01:30:00Z"}},
		{"autumn, cron of each hour fires in both", berlin, "30 * * * * for 20m", "2026-10-25T00:10:00Z",
			[]string{"2026-10-25T00:30:00Z", "2026-10-25T00:50:00Z", "2026-10-25T01:30:00Z", "2026-10-25T01:50:00Z"}},
		{"autumn, a look in the second hour", berlin, "30 2 * * * for 20m", "2026-10-25T01:05:00Z",
			[]string{"2026-10-26T01:30:00Z", "2026-10-26T01:50:00Z"}},

		// The clock goes from 02:00 to 03:00 on 8 March, and from 02:00 to 01:00 on 1 November.
		{"spring", newYork, "Sat 22:00-06:00", "2026-03-07T12:00:00Z",
			[]string{"2026-03-08T03:00:00Z", "2026-03-08T10:00:00Z", "2026-03-15T02:00:00Z"}},
		{"spring, in the gap", newYork, "Sun 02:15-04:00", "2026-03-07T12:00:00Z",
			[]string{"2026-03-08T07:00:00Z", "2026-03-08T08:00:00Z", "2026-03-15T06:15:00Z"}},
		{"spring, cron", newYork, "15 2 * * sun for 1h", "2026-03-07T12:00:00Z",
			[]string{"2026-03-08T07:00:00Z", "2026-03-08T08:00:00Z", "2026-03-15T06:15:00Z"}},
		{"autumn", newYork, "Sat 22:00-06:00", "2026-10-31T12:00:00Z",
			[]string{"2026-11-01T02:00:00Z", "2026-11-01T11:00:00Z", "2026-11-08T03:00:00Z"}},
		{"autumn, in the repeated hour", newYork, "Sun 01:15-01:45", "2026-10-31T12:00:00Z",
			[]string{"2026-11-01T05:15:00Z", "2026-11-01T05:45:00Z", "2026-11-08T06:15:00Z"}},
		{"autumn, cron", newYork, "15 1 * * sun for 30m", "2026-10-31T12:00:00Z",
			[]string{"2026-11-01T05:15:00Z", "2026-11-01T05:45:00Z", "2026-11-08T06:15:00Z"}},

		// The clock goes from 24:00 back to 23:00 on 4 April, and from 00:00 to 01:00 on 6 September.
		{"autumn, whole days", santiago, "Sat", "2026-04-03T12:00:00Z",
			[]string{"2026-04-04T03:00:00Z", "2026-04-05T04:00:00Z", "2026-04-11T04:00:00Z"}},
		{"autumn, up to midnight", santiago, "20:00-24:00", "2026-04-04T12:00:00Z",
			[]string{"2026-04-04T23:00:00Z", "2026-04-05T04:00:00Z", "2026-04-06T00:00:00Z"}},
		{"autumn, up to the repeated hour", santiago, "20:00-23:30", "2026-04-04T12:00:00Z",
			[]string{"2026-04-04T23:00:00Z", "2026-04-05T02:30:00Z", "2026-04-06T00:00:00Z"}},
		{"spring, midnight is in the gap", santiago, "Sun", "2026-09-05T12:00:00Z",
			[]string{"2026-09-06T04:00:00Z", "2026-09-07T03:00:00Z", "2026-09-13T03:00:00Z"}},
		{"spring, it begins at the midnight that is not", santiago, "00:00-06:00", "2026-09-05T12:00:00Z",
			[]string{"2026-09-06T04:00:00Z", "2026-09-06T09:00:00Z", "2026-09-07T03:00:00Z"}},
		{"spring, @daily", santiago, "@daily for 2h", "2026-09-05T12:00:00Z",
			[]string{"2026-09-06T04:00:00Z", "2026-09-06T06:00:00Z", "2026-09-07T03:00:00Z"}},
		{"spring, over midnight", santiago, "Sat 22:00-00:30", "2026-09-05T12:00:00Z",
			[]string{"2026-09-06T02:00:00Z", "2026-09-06T04:00:00Z", "2026-09-13T01:00:00Z"}},

		// The clock goes from 02:00 back to 01:30 on 5 April, and from 02:00 to 02:30 on 4 October.
		{"autumn, half an hour", lordHowe, "22:00-06:00", "2026-04-04T02:00:00Z",
			[]string{"2026-04-04T11:00:00Z", "2026-04-04T19:30:00Z", "2026-04-05T11:30:00Z"}},
		{"autumn, in the repeated half hour", lordHowe, "01:45-03:00", "2026-04-04T02:00:00Z",
			[]string{"2026-04-04T14:45:00Z", "2026-04-04T16:30:00Z", "2026-04-05T15:15:00Z"}},
		{"autumn, cron in the repeated half hour", lordHowe, "45 1 * * * for 10m", "2026-04-04T02:00:00Z",
			[]string{"2026-04-04T14:45:00Z", "2026-04-04T14:55:00Z", "2026-04-05T15:15:00Z"}},
		{"spring, half an hour", lordHowe, "22:00-06:00", "2026-10-03T02:00:00Z",
			[]string{"2026-10-03T11:30:00Z", "2026-10-03T19:00:00Z", "2026-10-04T11:00:00Z"}},
		{"spring, in the gap", lordHowe, "02:10-05:00", "2026-10-03T02:00:00Z",
			[]string{"2026-10-03T15:30:00Z", "2026-10-03T18:00:00Z", "2026-10-04T15:10:00Z"}},
		{"spring, cron in the gap", lordHowe, "10 2 * * * for 1h", "2026-10-03T02:00:00Z",
			[]string{"2026-10-03T15:30:00Z", "2026-10-03T16:30:00Z", "2026-10-04T15:10:00Z"}},
	} {
		t.Run(test.zone+" "+test.name, func(t *testing.T) {
			windows, now, inside := parse(t, test.windows, test.zone), at(t, test.from), false
			if windows.Inside(now) {
				t.Fatalf("inside at %s", now)
			}
			for _, want := range test.want {
				next := windows.Next(now)
				if !next.Equal(at(t, want)) {
					t.Fatalf("the change after %s is %s, want %s", now, next.Format(time.RFC3339), want)
				}
				inside = !inside
				if windows.Inside(next) != inside || windows.Inside(next.Add(-time.Nanosecond)) == inside {
					t.Errorf("inside at %s is not %t, or was so before", next, inside)
				}
				now = next
			}
		})
	}
}

// TestNextIsTheNextChange walks through the nights of the clock changes by the minute.
func TestNextIsTheNextChange(t *testing.T) {
	nights := map[string][]string{
		berlin:   {"2026-03-28T12:00:00Z", "2026-10-24T12:00:00Z"},
		newYork:  {"2026-03-07T12:00:00Z", "2026-10-31T12:00:00Z"},
		santiago: {"2026-04-04T12:00:00Z", "2026-09-05T12:00:00Z"},
		lordHowe: {"2026-04-04T02:00:00Z", "2026-10-03T02:00:00Z"},
	}
	for name, begins := range nights {
		for _, text := range []string{
			"20:00-07:00", "Mon-Fri 20:00-07:00; Sat,Sun", "02:00-02:30,23:30-00:15", "Sat-Mon", "0 20 * * * for 11h",
			"*/7 * * * * for 3m", "30 0-3 * * * for 45m; 01:00-01:20", "15 */2 * * * for 1h; 3 3 * * * for 2h",
		} {
			windows := parse(t, text, name)
			for _, begin := range begins {
				now := at(t, begin)
				next, inside := windows.Next(now), windows.Inside(now)
				for range 30 * 60 {
					now = now.Add(time.Minute)
					changed := windows.Inside(now) != inside
					if due := !next.IsZero() && !now.Before(next); changed != due {
						t.Fatalf("%s in %s: inside changes at %s: %t, but Next said %s", text, name, now, changed, next)
					}
					if changed {
						next, inside = windows.Next(now), !inside
					}
				}
			}
		}
	}
}

func TestWindows(t *testing.T) {
	weekend := parse(t, "Mon-Fri 20:00-07:00; Sat,Sun", berlin)
	for _, test := range []struct{ now, next string }{
		{"2026-03-06T19:30:00Z", "2026-03-08T23:00:00Z"}, // Friday evening to Monday, 00:00
		{"2026-03-09T12:00:00Z", "2026-03-09T19:00:00Z"},
		{"2026-03-09T19:00:00Z", "2026-03-10T06:00:00Z"},
	} {
		if next := weekend.Next(at(t, test.now)); !next.Equal(at(t, test.next)) {
			t.Errorf("after %s: %s, want %s", test.now, next, test.next)
		}
	}
	// With the night of Sunday the weekend is one sleep.
	whole := parse(t, "Sun-Fri 20:00-07:00; Sat,Sun", berlin)
	if next := whole.Next(at(t, "2026-03-06T19:30:00Z")); !next.Equal(at(t, "2026-03-09T06:00:00Z")) {
		t.Errorf("the weekend ends at %s", next)
	}
	always := parse(t, "Mon-Sun", "")
	if now := at(t, "2026-03-06T19:30:00Z"); !always.Inside(now) || !always.Next(now).IsZero() {
		t.Errorf("whole weeks end at %s", always.Next(now))
	}
	never := parse(t, "0 0 30 2 * for 1h", "")
	if now := at(t, "2026-03-06T19:30:00Z"); never.Inside(now) || !never.Next(now).IsZero() {
		t.Error("30 February comes")
	}
	var none hours.Windows
	if now := at(t, "2026-03-06T19:30:00Z"); none.Inside(now) || !none.Next(now).IsZero() || !none.Empty() {
		t.Error("no windows contain something")
	}
	if !weekend.Covers(at(t, "2026-03-10T05:54:00Z"), 5*time.Minute) {
		t.Error("six minutes before its end the window does not cover five minutes")
	}
	if weekend.Covers(at(t, "2026-03-10T05:55:00Z"), 5*time.Minute) {
		t.Error("five minutes before its end the window covers five minutes")
	}
	if !weekend.Covers(at(t, "2026-03-08T22:59:00Z"), 0) || weekend.Covers(at(t, "2026-03-08T23:00:00Z"), 0) {
		t.Error("no duration is not the time itself")
	}
}

func TestParseSaysHowToMend(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "empty window",
		"Mon-Fri 20:00-07:00;":             "empty window",
		"Mon-Fri 20:00-07:00, Sat-Sun":     "separate windows by semicolons",
		"Mon-Fri 8-20":                     `hours "8-20"`,
		"Mon-Fri 20:00":                    `hours "20:00"`,
		"Mon-Fri 24:00-07:00":              `hours "24:00-07:00"`,
		"Mon-Fri 20:00-20:00":              "whole days",
		"Mon-Fri 20:00-25:00":              `hours "20:00-25:00"`,
		"Mon-Fri +1:00-07:00":              `hours "+1:00-07:00"`,
		"Monday":                           `day "Monday"`,
		"Mon--Fri":                         `day "Mon--Fri"`,
		"Mon,":                             `day ""`,
		"0 20 * * mon-fri":                 "duration",
		"0 20 * * mon-fri for 90s":         `duration "90s"`,
		"0 20 * * mon-fri for ever":        `duration "ever"`,
		"0 20 * * mon-fri for 1000h":       `duration "1000h"`,
		"0 20 * * mon-fri for -1h":         `duration "-1h"`,
		"0 99 * * * for 1h":                `schedule "0 99 * * *"`,
		"TZ=Asia/Tokyo 0 20 * * * for 1h":  "time zone",
		"@every 1h for 1h":                 "@every",
		strings.Repeat("Mon;", 60) + "Tue": "more than 50 windows",
		strings.Repeat(" ", 5000):          "5000 characters",
	} {
		if _, err := hours.Parse(text, time.UTC); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: error %v, want one about %s", text, err, want)
		}
	}
	for _, name := range []string{"Local", "Mars/Olympus", "../etc/passwd", " UTC", strings.Repeat("a", 100)} {
		if _, err := hours.Zone(name); err == nil || !strings.Contains(err.Error(), "Europe/Berlin") {
			t.Errorf("%q: error %v", name, err)
		}
	}
}

func TestOrder(t *testing.T) {
	now := at(t, "2026-03-09T20:00:00Z")
	for _, test := range []struct {
		name    string
		data    map[string]string
		inside  bool
		changes string
	}{
		{"nothing is ordered", nil, false, ""},
		{"until a time", map[string]string{"sleepUntil": "2026-03-10T06:00:00Z"}, true, "2026-03-10T06:00:00Z"},
		{"until a time that has passed", map[string]string{"sleepUntil": "2026-03-09T20:00:00Z"}, false, ""},
		{"by windows", map[string]string{"sleep": "20:00-07:00", "timeZone": berlin}, true, "2026-03-10T06:00:00Z"},
		{"until a time inside of a window",
			map[string]string{"sleepUntil": "2026-03-10T03:00:00Z", "sleep": "20:00-07:00"}, true, "2026-03-10T07:00:00Z"},
		{"awake inside of a window",
			map[string]string{"awakeUntil": "2026-03-10T03:00:00Z", "sleep": "20:00-07:00"}, false, "2026-03-10T03:00:00Z"},
		{"awake to the end of a window",
			map[string]string{"awakeUntil": "2026-03-10T07:00:00Z", "sleep": "20:00-07:00"}, false, "2026-03-10T20:00:00Z"},
	} {
		order, err := hours.ReadOrder(test.data)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		want := time.Time{}
		if test.changes != "" {
			want = at(t, test.changes)
		}
		if got := order.Sleep(now); got.Inside != test.inside || !got.Changes.Equal(want) {
			t.Errorf("%s: %+v", test.name, got)
		}
	}
	for key, value := range map[string]string{
		"sleepUntil": "tomorrow", "awakeUntil": "7", "timeZone": "Mars", "sleep": "at night",
	} {
		order, err := hours.ReadOrder(map[string]string{key: value, "sleepUntil": choose(key, "sleepUntil", value)})
		if order != nil || err == nil || !strings.Contains(err.Error(), "data."+key+`: "`+value) {
			t.Errorf("%s: order %v, error %v", key, order, err)
		}
	}
	var none *hours.Order
	if none.Sleep(now) != (hours.Sleep{}) {
		t.Error("without an order the cluster sleeps")
	}
}

// choose is the broken value for the key under test, and a good one for sleepUntil otherwise.
func choose(key, under, value string) string {
	if key == under {
		return value
	}
	return "2099-01-01T00:00:00Z"
}

// FuzzParse looks for a text that ends the pass or costs it much time, and for a next change that is
// none.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"Mon-Fri 20:00-07:00; Sat,Sun", "0 20 * * mon-fri for 11h", "22:00-06:00", "@daily for 1h", "* * * * * for 744h",
		"TZ=UTC\t0\t9\t*\t* for 1h", ", , , , , for 1h", "0 0 30 2 * for 1h", "59 23 31 12 * for 1m", "Sun-Sat 00:00-24:00",
	} {
		f.Add(text, berlin, int64(1_774_746_000))
		f.Add(text, lordHowe, int64(1_791_041_400))
	}
	f.Fuzz(func(t *testing.T, text, name string, seconds int64) {
		zone, err := hours.Zone(name)
		if err != nil {
			return
		}
		windows, err := hours.Parse(text, zone)
		if err != nil {
			if windows.Inside(time.Unix(seconds, 0)) {
				t.Error("a broken text has windows")
			}
			return
		}
		now := time.Unix(seconds%4_000_000_000, 0).UTC()
		next := windows.Next(now)
		if next.IsZero() {
			return
		}
		if !next.After(now) || windows.Inside(next) == windows.Inside(now) {
			t.Errorf("%q in %s: the change after %s is none: %s", text, name, now, next)
		}
	})
}
