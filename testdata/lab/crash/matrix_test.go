package crash

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestWorkersDoJobsThatAreAddedMeanwhile(t *testing.T) {
	queue := &jobs{waiting: make(chan struct{}, 1)}
	queue.add(job{row: &Row{}})
	var done atomic.Int32
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for {
				next, more := queue.take(t.Context())
				if !more {
					return
				}
				// The first trial adds the others, as an undisturbed trial adds its kills.
				if next.kills == nil {
					for range 100 {
						queue.add(job{row: next.row, kills: []Kill{{}}})
					}
				}
				done.Add(1)
				queue.done()
			}
		})
	}
	group.Wait()
	if done.Load() != 101 {
		t.Errorf("%d jobs were done", done.Load())
	}
}

func TestReportFailsForFaultsMissedKillsAndUnusedRights(t *testing.T) {
	scenario := &Scenario{Function: "provision", Name: "a scenario"}
	kill := Kill{Call: Call{1, "ec2:CreateFleet", "Type", 1}, After: true}
	for _, test := range []struct {
		name   string
		row    Row
		unmade []string
		well   bool
		says   string
	}{
		{
			"all is well", Row{Calls: 10, Kills: 20, Trials: 7}, nil, true,
			"crash matrix: 1 scenarios, 10 calls, 20 kills in 7 trials, 0 violations",
		},
		{
			"a fault", Row{Calls: 10, Kills: 20, Faults: []Fault{{Kills: []Kill{kill}, Texts: []string{"two instances"}}}}, nil,
			false, "VIOLATION provision/a scenario: killed after ec2:CreateFleet [Type] (no. 1 in invocation 1): two instances",
		},
		{
			"a kill that did not come about", Row{Calls: 10, Kills: 19, Missed: []Kill{kill}}, nil, false,
			"VIOLATION provision/a scenario: killed after ec2:CreateFleet [Type] (no. 1 in invocation 1): it never happened",
		},
		{"no call at all", Row{Trials: 1}, nil, false, "its function makes no call"},
		{
			"a right without a call", Row{Calls: 10, Kills: 20, Trials: 7}, []string{"provision ec2:CreateFleet"}, false,
			"VIOLATION a right that no scenario uses: provision ec2:CreateFleet",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.row.Scenario = scenario
			var out strings.Builder
			well, err := Write(&out, []*Row{&test.row}, test.unmade)
			if err != nil || well != test.well || !strings.Contains(out.String(), test.says) {
				t.Errorf("well %t, %v: %s", well, err, out.String())
			}
		})
	}
}

func TestPartsMakeTheWhole(t *testing.T) {
	sweep := func(text string) Sweep {
		t.Helper()
		parsed, err := ParseSweep(text)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	for i := range 7 {
		taken := 0
		for _, part := range []string{"1/3", "2/3", "3/3"} {
			if sweep(part).takes(i, 7) {
				taken++
			}
		}
		if taken != 1 || !sweep("").takes(i, 7) || sweep("none").takes(i, 7) || sweep("one:12").takes(i, 7) != (i == 5) {
			t.Errorf("trial %d is in %d of three parts, in all: %t, in none: %t, the one: %t", i, taken,
				sweep("").takes(i, 7), sweep("none").takes(i, 7), sweep("one:12").takes(i, 7))
		}
	}
	if _, err := ParseSweep("one:x"); err == nil || !strings.Contains(err.Error(), "whole number") {
		t.Errorf("one of no number: %v", err)
	}
	for _, wrong := range []string{"1", "0/2", "3/2", "-1/2", "1/2x", "half", "some:1"} {
		if _, err := ParseSweep(wrong); err == nil || !strings.Contains(err.Error(), "2/4") {
			t.Errorf("%q: error %v, want one with an example", wrong, err)
		}
	}
}

func TestSharesMakeThePart(t *testing.T) {
	for _, text := range []string{"", "2/3", "one:12"} {
		whole, err := ParseSweep(text)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			taken := 0
			for share := range 2 {
				if whole.Share(share, 2).takes(i, 20) {
					taken++
				}
			}
			if taken > 1 || (taken == 1) != whole.takes(i, 20) {
				t.Errorf("trial %d of %q is in %d shares, and in the whole: %t", i, text, taken, whole.takes(i, 20))
			}
		}
	}
}

func TestPairsAreTwoKillsOfTheScenario(t *testing.T) {
	calls := []Call{{Invocation: 1, Name: "LIST pods", Nth: 1}, {Invocation: 1, Name: "ec2:CreateFleet", Nth: 1}}
	drawn := func(text string) [][]Kill {
		sweep, err := ParseSweep(text)
		if err != nil {
			t.Fatal(err)
		}
		return sweep.kills(&Scenario{Function: "provision", Name: "a scenario"}, calls)
	}
	pairs := drawn("pairs:7")
	for _, pair := range pairs {
		if len(pair) != 2 || pair[0] == pair[1] {
			t.Errorf("the kills %v are no pair", pair)
		}
	}
	if len(pairs) == 0 || !reflect.DeepEqual(pairs, drawn("pairs:7")) || reflect.DeepEqual(pairs, drawn("pairs:8")) {
		t.Errorf("the number does not choose the pairs: %v", pairs)
	}
}

func TestMergeAddsShares(t *testing.T) {
	scenarios := []Scenario{{Function: "provision", Name: "a scenario"}, {Function: "provision", Name: "another"}}
	share := func(kills int, call string) []*Row {
		return []*Row{{
			Title: "provision/a scenario", Calls: 4, Kills: kills, Trials: 2, Names: map[string]bool{call: true},
			Faults: []Fault{{Texts: []string{call}}},
		}}
	}
	rows := Merge(scenarios, [][]*Row{share(3, "LIST pods"), share(5, "GET leases")})
	if len(rows) != 1 || rows[0].Scenario != &scenarios[0] || rows[0].Calls != 4 || rows[0].Kills != 8 ||
		rows[0].Trials != 4 || len(rows[0].Names) != 2 || len(rows[0].Faults) != 2 {
		t.Errorf("the rows are %+v", rows)
	}
}

// TestExcusesHaveTheirObjects holds that an excuse goes with the scenario or the right that it is for.
func TestExcusesHaveTheirObjects(t *testing.T) {
	for key := range unreachable() {
		if !slices.ContainsFunc(Scenarios(), func(s Scenario) bool { return strings.HasPrefix(key, s.title()+": ") }) {
			t.Errorf("no scenario has the title of %q", key)
		}
	}
	for right := range unused() {
		function, call, _ := strings.Cut(right, " ")
		if allowed, err := permitted("../../..", function); err != nil || !slices.Contains(allowed, call) {
			t.Errorf("function %s has no right to %s (%v)", function, call, err)
		}
	}
}

func TestScenarioTitlesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	functions := map[string]bool{}
	for _, scenario := range Scenarios() {
		if seen[scenario.title()] {
			t.Errorf("two scenarios are called %q", scenario.title())
		}
		seen[scenario.title()], functions[scenario.Function] = true, true
	}
	// A watch lasts as long as its work. Tests of its own kill, double and delay it.
	for _, name := range []string{
		"ticker", "provision", "interrupt", "lifecycle", "disrupt", "catalog", "install", "console",
	} {
		if !functions[name] {
			t.Errorf("no scenario is about %s", name)
		}
	}
	if selected := Select(Scenarios(), "interrupt/"); len(selected) == 0 || len(selected) == len(seen) {
		t.Errorf("%d scenarios are interrupt's", len(selected))
	} else if both := Select(Scenarios(), "interrupt/|ticker/"); len(both) != len(selected)+1 {
		t.Errorf("%d scenarios are interrupt's and ticker's", len(both))
	}
}

// TestKillIsMissedOnlyIfItsCallIsGone holds that a call which moved to another invocation is no violation.
func TestKillIsMissedOnlyIfItsCallIsGone(t *testing.T) {
	call := Call{Invocation: 11, Name: "LIST leases", Kind: "cached", Nth: 1}
	earlier := call
	earlier.Invocation = 10
	for _, test := range []struct {
		made          []Call
		missed, moved int
	}{
		{[]Call{earlier}, 0, 1},
		{[]Call{{Invocation: 10, Name: "LIST nodes", Kind: "cached", Nth: 1}}, 1, 0},
		{nil, 1, 0},
	} {
		row := &Row{Scenario: &Scenario{Function: "disrupt", Name: "a scenario"}, Calls: 1}
		matrix := &Matrix{left: map[*Row]int{row: triesAlone}}
		queue := &jobs{waiting: make(chan struct{}, 1)}
		next := job{row: row, kills: []Kill{{Call: call}}}
		for range triesAlone {
			matrix.alone(queue, next, Outcome{Calls: test.made})
			next.tried++
		}
		if len(row.Missed) != test.missed || len(row.Moved) != test.moved || len(row.Violations()) != test.missed {
			t.Errorf("calls %v: missed %v, moved %v, violations %v", test.made, row.Missed, row.Moved, row.Violations())
		}
	}
}
