package crash

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
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
	for _, test := range []struct {
		name string
		row  Row
		well bool
		says string
	}{
		{"all is well", Row{Calls: 10, Kills: 19, Missed: 1}, true, "crash matrix: provision 10 calls, 19 kills, 0 faults"},
		{"a fault", Row{Calls: 10, Kills: 20, Faults: []Fault{{Kills: []Kill{{Call: Call{1, "ec2:CreateFleet", 1}, After: true}}, Texts: []string{"two instances"}}}}, false, "killed after ec2:CreateFleet (no. 1 in invocation 1): two instances"},
		{"too few kills", Row{Calls: 10, Kills: 12, Missed: 8}, false, "only 12 of 20 kills"},
		{"no kill at all", Row{}, false, "only 0 of 0 kills"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.row.Story = story
			var out strings.Builder
			well, err := Write(&out, []*Row{&test.row})
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
	}
}
