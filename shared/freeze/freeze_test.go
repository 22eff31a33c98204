package freeze_test

import (
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/freeze"
)

var now = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func TestReadsWhatItWrites(t *testing.T) {
	for name, want := range map[string]freeze.Freeze{
		"the cluster": {Who: "alice", Since: now},
		"a pool, everything": {
			Pool: "batch.example", Who: "bob", Reason: "INC-12", Since: now, Until: now.Add(time.Hour),
			Launches: true, Drains: true,
		},
		"hard words": {Who: `arn:aws:sts::1:assumed-role/ops/"al"`, Reason: "a: b # c\nuntil: soon\t'x'", Since: now},
	} {
		want.Key = freeze.KeyOf(want.Pool)
		read := freeze.Read(map[string]string{want.Key: want.Text(), "sleep": "Mon"})
		if read == nil || len(read.All) != 1 || read.All[0] != want {
			t.Errorf("%s: %+v, want %+v from\n%s", name, read, want, want.Text())
		}
	}
	if read := freeze.Read(map[string]string{"sleepUntil": "x", "reason": "y"}); read != nil {
		t.Errorf("no freeze is %+v", read)
	}
}

func TestWhatPeopleWrite(t *testing.T) {
	text := "# because of the incident\n\n who:  alice \nreason: 'it''s late'\n" +
		"until: \"2026-03-02T13:00:00+01:00\"\ndrains: false\n"
	read := freeze.Read(map[string]string{"freeze": text})
	want := freeze.Freeze{Who: "alice", Reason: "it's late", Until: now}
	if one := read.All[0]; one.Who != want.Who || one.Reason != want.Reason || !one.Until.Equal(want.Until) ||
		one.Problem != "" || one.Drains {
		t.Errorf("%+v", one)
	}
}

func TestABrokenValueFreezesAndNamesItsField(t *testing.T) {
	for _, test := range []struct{ key, text, problem string }{
		{"freeze", "until: soon", `data.freeze: until: "soon" is not a time: write one such as`},
		{"freeze.batch", "since: 1", `data.freeze.batch: since: "1" is not a time`},
		{"freeze", "who: a\nuntill: 2026-03-02T07:00:00Z", `data.freeze: untill: "2026-03-02T07:00:00Z" is of no known field`},
		{"freeze", "launches: yes", `data.freeze: launches: "yes" is not a switch: write true or false`},
		{"freeze", "drains:", `data.freeze: drains: "" is not a switch`},
		{"freeze", "", "data.freeze is empty"},
		{"freeze", " \n# nothing\n", "data.freeze is empty"},
		{"freeze", "true", `data.freeze: true: "" is of no known field`},
		{"freeze", `who: "al`, `data.freeze: who: "\"al" has a quote`},
		{"freeze", "who: 'al", `has a quote`},
		{"freeze", "who: a\nwho: b", `data.freeze: who: "b" comes twice`},
		{"freeze.", "who: a", "data.freeze. is no key"},
		{"freeze-batch", "who: a", "data.freeze-batch is no key: write data.freeze, or data.freeze.NAME"},
		{"Freeze", "who: a", "data.Freeze is no key"},
		// An end that has passed does not end a freeze whose other lines nobody understands.
		{"freeze", "until: 2026-03-01T07:00:00Z\nwhy: x", `data.freeze: why: "x" is of no known field`},
	} {
		read := freeze.Read(map[string]string{test.key: test.text})
		held := read.Of(freeze.Disruptions, "batch", now)
		if held == nil || !strings.Contains(held.Problem, test.problem) {
			t.Errorf("%s = %q: %+v", test.key, test.text, held)
			continue
		}
		if !strings.Contains(held.String(), "is frozen by an order that cannot be read: data.") {
			t.Errorf("says %s", held)
		}
		if read.Of(freeze.Launches, "batch", now) != nil || read.Of(freeze.Drains, "batch", now) != nil {
			t.Errorf("%s = %q holds launches or drains", test.key, test.text)
		}
	}
	// The lines that can be read count.
	read := freeze.Read(map[string]string{"freeze": "until: soon\ndrains: true"})
	if read.Of(freeze.Drains, "", now) == nil || read.Of(freeze.Launches, "", now) != nil {
		t.Errorf("%+v", read)
	}
}

func TestFreezesSideBySide(t *testing.T) {
	hour := func(hours int) time.Time { return now.Add(time.Duration(hours) * time.Hour) }
	data := map[string]string{}
	for _, one := range []freeze.Freeze{
		{Who: "all", Until: hour(1)},
		{Pool: "batch", Who: "open"},
		{Pool: "night", Who: "two", Until: hour(2), Launches: true},
		{Pool: "short", Who: "half", Until: now.Add(time.Minute), Drains: true},
		{Pool: "ended", Who: "ended", Until: now, Launches: true},
	} {
		data[freeze.KeyOf(one.Pool)] = one.Text()
	}
	read := freeze.Read(data)
	for _, test := range []struct {
		what freeze.What
		pool string
		at   time.Time
		who  string
	}{
		{freeze.Disruptions, "", now, "all"},
		{freeze.Disruptions, "web", now, "all"},
		{freeze.Disruptions, "web", hour(1), ""},
		{freeze.Disruptions, "batch", now, "open"},
		{freeze.Disruptions, "batch", hour(1000), "open"},
		{freeze.Disruptions, "night", now, "two"},
		{freeze.Disruptions, "night", hour(2), ""},
		{freeze.Disruptions, "short", now, "all"},
		{freeze.Disruptions, "ended", hour(1), ""},
		{freeze.Launches, "night", now, "two"},
		{freeze.Launches, "batch", now, ""},
		{freeze.Launches, "ended", now, ""},
		{freeze.Drains, "short", now, "half"},
		{freeze.Drains, "short", now.Add(time.Minute), ""},
		{freeze.Drains, "night", now, ""},
	} {
		who := ""
		if held := read.Of(test.what, test.pool, test.at); held != nil {
			who = held.Who
		}
		if who != test.who {
			t.Errorf("%d of %q at %s is held by %q, want %q", test.what, test.pool, test.at, who, test.who)
		}
	}
	if active := read.Active(now); len(active) != 4 || active[0].Pool != "" || active[1].Pool != "batch" {
		t.Errorf("active are %+v", active)
	}
	if read.Any(freeze.Launches, now).Who != "two" || read.Any(freeze.Launches, hour(2)) != nil {
		t.Error("a launch is held for two hours")
	}
	var none *freeze.Freezes
	if none.Of(freeze.Disruptions, "", now) != nil || none.Active(now) != nil || none.Any(freeze.Drains, now) != nil {
		t.Error("no freezes hold something")
	}
}

func TestAFreezeInWords(t *testing.T) {
	for want, one := range map[string]freeze.Freeze{
		"the cluster is frozen by alice until Mon 2 Mar 13:00 UTC (INC-12)": {
			Who: "alice", Reason: "INC-12", Until: now.Add(time.Hour)},
		`nodepool "batch" is frozen by somebody until somebody thaws it`: {Pool: "batch"},
	} {
		if one.String() != want {
			t.Errorf("%s, want %s", one.String(), want)
		}
	}
	all := freeze.Freeze{Launches: true, Drains: true}
	if all.Holds() != "disruption, launches, drains" {
		t.Error(all.Holds())
	}
}

func TestChanged(t *testing.T) {
	all := func(until time.Duration) freeze.Freeze { return freeze.Freeze{Who: "alice", Until: now.Add(until)} }
	batch, broken := freeze.Freeze{Pool: "batch", Who: "bob"}, freeze.Freeze{Problem: "data.freeze"}
	for name, test := range map[string]struct {
		before, now  []freeze.Freeze
		began, ended int
	}{
		"nothing":        {},
		"the first":      {now: []freeze.Freeze{all(1), batch}, began: 2},
		"the same":       {before: []freeze.Freeze{all(1), batch}, now: []freeze.Freeze{all(1), batch}},
		"extended":       {before: []freeze.Freeze{all(time.Hour)}, now: []freeze.Freeze{all(2 * time.Hour)}, began: 1},
		"one of two":     {before: []freeze.Freeze{all(1), batch}, now: []freeze.Freeze{batch}, ended: 1},
		"broken, mended": {before: []freeze.Freeze{broken}, now: []freeze.Freeze{all(1)}, began: 1, ended: 1},
	} {
		began, ended := freeze.Changed(test.before, test.now)
		if len(began) != test.began || len(ended) != test.ended {
			t.Errorf("%s: began %v, ended %v", name, began, ended)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("freeze", "who: a\nuntil: 2026-03-02T07:00:00Z")
	f.Add("freeze.a", "'")
	f.Fuzz(func(t *testing.T, key, text string) {
		for _, one := range freeze.Read(map[string]string{key: text}).Active(now) {
			if one.Problem != "" {
				continue
			}
			again := freeze.Read(map[string]string{key: one.Text()})
			if again.All[0].String() != one.String() || again.All[0].Holds() != one.Holds() {
				t.Errorf("%+v is read again as %+v", one, again.All[0])
			}
		}
	})
}
