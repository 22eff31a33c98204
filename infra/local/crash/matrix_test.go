package crash

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestJobsThatAreAddedOnTheWayAreDoneByAll(t *testing.T) {
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
				// The first makes the others, as an undisturbed telling makes its kills.
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

func TestTheReportFailsForFaultsAndForKillsThatDidNotHappen(t *testing.T) {
	story := &Story{Function: "provision", Name: "a story"}
	kill := Kill{Call: Call{1, "ec2:CreateFleet", 1}, After: true}
	for _, test := range []struct {
		name string
		row  Row
		well bool
		says string
	}{
		{"all is well", Row{Calls: 10, Kills: 20, Told: 7}, true, "crash matrix: 1 stories, 10 calls, 20 kills in 7 tellings, 0 kills that others stand for, 0 violations; 2 calls are allowed and never made"},
		{"a fault", Row{Calls: 10, Kills: 20, Faults: []Fault{{Kills: []Kill{kill}, Texts: []string{"two instances"}}}}, false, "VIOLATION provision/a story: killed after ec2:CreateFleet (no. 1 in invocation 1): two instances"},
		{"a kill that did not come about", Row{Calls: 10, Kills: 19, Missed: []Kill{kill}}, false, "VIOLATION provision/a story: killed after ec2:CreateFleet (no. 1 in invocation 1): it never came about"},
		{"one for which another stands", Row{Calls: 10, Kills: 19, Missed: []Kill{kill}, died: map[death]bool{{"ec2:CreateFleet", true}: true}}, true, "1 kills that others stand for, 0 violations"},
		{"one that came about on the other side alone", Row{Calls: 10, Kills: 19, Missed: []Kill{kill}, died: map[death]bool{{"ec2:CreateFleet", false}: true}}, false, "it never came about"},
		{"no call at all", Row{Told: 1}, false, "its function makes no call"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.row.Story = story
			var out strings.Builder
			well, err := Write(&out, []*Row{&test.row}, []string{"provision ec2:CreateTags", "provision GET nodes"})
			if err != nil || well != test.well || !strings.Contains(out.String(), test.says) {
				t.Errorf("well %t, %v: %s", well, err, out.String())
			}
		})
	}
}

func TestEachStoryHasATitleOfItsOwn(t *testing.T) {
	seen := map[string]bool{}
	functions := map[string]bool{}
	for _, story := range Stories() {
		if seen[story.title()] {
			t.Errorf("two stories are called %q", story.title())
		}
		seen[story.title()], functions[story.Function] = true, true
	}
	for _, name := range []string{"ticker", "provision", "interrupt", "lifecycle", "disrupt", "catalog", "install", "console"} {
		if !functions[name] {
			t.Errorf("no story is about %s", name)
		}
	}
	if selected := Select(Stories(), "interrupt/"); len(selected) == 0 || len(selected) == len(seen) {
		t.Errorf("%d stories are interrupt's", len(selected))
	} else if both := Select(Stories(), "interrupt/|ticker/"); len(both) != len(selected)+1 {
		t.Errorf("%d stories are interrupt's and ticker's", len(both))
	}
}

func TestNoHalfHourIsNearWhereAStoryBegins(t *testing.T) {
	for from, want := range map[string]string{"12:29:30.5": "12:31:00", "12:30:59.9": "12:31:00", "12:00:00": "12:01:00", "12:00:59": "12:01:00", "12:01:00": "12:01:00", "12:28:00": "12:28:00", "12:28:01": "12:31:00", "12:59:59": "13:01:00"} {
		now, err := time.Parse(time.TimeOnly, from)
		if err != nil {
			t.Fatal(err)
		}
		if begins := now.Add(untilCalm(now)).Format("15:04:05.999"); begins != want {
			t.Errorf("at %s a story begins at %s, want %s", from, begins, want)
		}
	}
}
