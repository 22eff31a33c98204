package expression

import (
	"testing"
	"time"
)

func TestNext(t *testing.T) {
	// A Saturday.
	now := time.Date(2026, 11, 21, 10, 7, 30, 0, time.UTC)
	for _, test := range []struct{ expression, zone, want string }{
		{"rate(1 minute)", "UTC", "2026-11-21T10:08:30Z"},
		{"rate(6 hours)", "UTC", "2026-11-21T16:07:30Z"},
		{"rate(2 days)", "UTC", "2026-11-23T10:07:30Z"},
		{"at(2026-11-21T10:07:31)", "UTC", "2026-11-21T10:07:31Z"},
		{"at(2026-11-21T10:07:30)", "UTC", ""},
		{"at(2026-11-21T12:00:00)", "Europe/Paris", "2026-11-21T11:00:00Z"},
		{"cron(0 12 * * ? *)", "UTC", "2026-11-21T12:00:00Z"},
		{"cron(15 10 ? * 6L 2027-2028)", "UTC", "2027-01-29T10:15:00Z"},
		{"cron(0/15 * * * ? *)", "UTC", "2026-11-21T10:15:00Z"},
		{"cron(0/5 8-17 ? * MON-FRI *)", "UTC", "2026-11-23T08:00:00Z"},
		{"cron(0 9 ? * 2#1 *)", "UTC", "2026-12-07T09:00:00Z"},
		{"cron(0 8 1 * ? *)", "UTC", "2026-12-01T08:00:00Z"},
		{"cron(0 8 L * ? *)", "UTC", "2026-11-30T08:00:00Z"},
		{"cron(0 8 22W * ? *)", "UTC", "2026-11-23T08:00:00Z"},
		{"cron(0 8 29 2 ? *)", "UTC", "2028-02-29T08:00:00Z"},
		{"cron(0 0 ? * FRI-MON *)", "UTC", "2026-11-22T00:00:00Z"},
		{"cron(30 2 ? MAR * *)", "Europe/Paris", "2027-03-01T01:30:00Z"},
		{"cron(0 12 * * ? 2025)", "UTC", ""},
		{"cron(0 12 31 2 ? *)", "UTC", ""},
	} {
		t.Run(test.expression, func(t *testing.T) {
			zone, err := time.LoadLocation(test.zone)
			if err != nil {
				t.Fatal(err)
			}
			e, err := Parse(test.expression, zone)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if next := e.Next(now, now); !next.IsZero() {
				got = next.UTC().Format(time.RFC3339)
			}
			if got != test.want {
				t.Errorf("next is %q, want %q", got, test.want)
			}
		})
	}
}

// TestSummerTime: 02:30 does not exist in Paris on 28 March 2027, so that day is left out.
func TestSummerTime(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		t.Fatal(err)
	}
	e, err := Parse("cron(30 2 * * ? *)", zone)
	if err != nil {
		t.Fatal(err)
	}
	before := time.Date(2027, 3, 27, 12, 0, 0, 0, time.UTC)
	if got := e.Next(before, before); got.In(zone).Day() != 29 {
		t.Errorf("next is %v, want the 29th", got.In(zone))
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{
		"", "rate", "rate()", "rate(0 minutes)", "rate(1 second)", "rate(1.5 hours)", "every(1 minute)", "at(tomorrow)",
		"at(2026-13-01T00:00:00)",
		"cron(* * * * *)", "cron(0 12 * * * *)", "cron(0 12 ? * ? *)", "cron(60 12 * * ? *)", "cron(0 24 * * ? *)",
		"cron(0 12 0 * ? *)",
		"cron(0 12 ? * 8 *)", "cron(0 12 ? * MON#6 *)", "cron(0 12 * FOO ? *)", "cron(0/0 12 * * ? *)",
		"cron(0 12 * * ? 1969)", "cron(0 12 32W * ? *)",
	} {
		if e, err := Parse(text, time.UTC); err == nil {
			t.Errorf("%q was accepted as %+v", text, e)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"rate(1 minute)", "cron(0/15 8-17 ? * MON-FRI 2027)", "cron(0 0 L * ? *)", "at(2026-11-21T10:00:00)",
		"cron(0 0 15W * ? *)",
	} {
		f.Add(seed)
	}
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		e, err := Parse(text, time.UTC)
		if err != nil {
			return
		}
		if next := e.Next(now, now); !next.IsZero() && !next.After(now) {
			t.Errorf("%q: the next run %v is not after %v", text, next, now)
		}
	})
}
