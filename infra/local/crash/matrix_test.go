package crash

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
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

func TestReportFailsForFaultsAndMissedKills(t *testing.T) {
	scenario := &Scenario{Function: "provision", Name: "a scenario"}
	kill := Kill{Call: Call{1, "ec2:CreateFleet", 1}, After: true}
	for _, test := range []struct {
		name string
		row  Row
		well bool
		says string
	}{
		{
			"all is well", Row{Calls: 10, Kills: 20, Trials: 7}, true,
			"crash matrix: 1 scenarios, 10 calls, 20 kills in 7 trials, 0 kills covered by another one, 0 violations; 2 " +
				"calls are allowed and never made",
		},
		{
			"a fault", Row{Calls: 10, Kills: 20, Faults: []Fault{{Kills: []Kill{kill}, Texts: []string{"two instances"}}}},
			false, "VIOLATION provision/a scenario: killed after ec2:CreateFleet (no. 1 in invocation 1): two instances",
		},
		{
			"a kill that did not come about", Row{Calls: 10, Kills: 19, Missed: []Kill{kill}}, false,
			"VIOLATION provision/a scenario: killed after ec2:CreateFleet (no. 1 in invocation 1): it never happened",
		},
		{
			"one for which another stands",
			Row{Calls: 10, Kills: 19, Missed: []Kill{kill}, died: map[death]bool{{"ec2:CreateFleet", true}: true}}, true,
			"1 kills covered by another one, 0 violations",
		},
		{
			"one that came about on the other side alone",
			Row{Calls: 10, Kills: 19, Missed: []Kill{kill}, died: map[death]bool{{"ec2:CreateFleet", false}: true}}, false,
			"it never happened",
		},
		{"no call at all", Row{Trials: 1}, false, "its function makes no call"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.row.Scenario = scenario
			var out strings.Builder
			well, err := Write(&out, []*Row{&test.row}, []string{"provision ec2:CreateTags", "provision GET nodes"})
			if err != nil || well != test.well || !strings.Contains(out.String(), test.says) {
				t.Errorf("well %t, %v: %s", well, err, out.String())
			}
		})
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

func TestScenariosBeginFarFromASweep(t *testing.T) {
	for from, want := range map[string]string{
		"12:29:30.5": "12:31:00", "12:30:59.9": "12:31:00", "12:00:00": "12:01:00", "12:00:59": "12:01:00",
		"12:01:00": "12:01:00", "12:28:00": "12:28:00", "12:28:01": "12:31:00", "12:59:59": "13:01:00",
	} {
		now, err := time.Parse(time.TimeOnly, from)
		if err != nil {
			t.Fatal(err)
		}
		if begins := now.Add(untilNoSweep(now)).Format("15:04:05.999"); begins != want {
			t.Errorf("at %s a scenario begins at %s, want %s", from, begins, want)
		}
	}
}
