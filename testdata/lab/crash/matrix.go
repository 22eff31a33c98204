package crash

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/draw"
)

// Row is the result of all trials of one scenario.
type Row struct {
	Title    string
	Scenario *Scenario `json:"-"`
	Calls    int       // in the trial without kills
	Kills    int
	Missed   []Kill // whose calls were not made again
	Moved    []Kill // whose calls were made in other invocations only
	Trials   int
	Took     time.Duration
	Faults   []Fault
	Names    map[string]bool // of the calls, in all trials
}

// Fault is a violation that a trial found, with or without kills.
type Fault struct {
	Kills []Kill // none: without any
	Texts []string
	Log   string
}

func (f Fault) String() string {
	when := []string{"undisturbed"}
	for i, kill := range f.Kills {
		when = append(when[:i], kill.String())
	}
	return strings.Join(when, " and ") + ": " + strings.Join(f.Texts, "; ")
}

// triesAlone is how often a kill is tried by itself.
const triesAlone = 2

// job is one trial to run.
type job struct {
	row   *Row
	kills []Kill
	tried int  // how often the kill was tried by itself before
	pair  bool // one of the kills may leave no call for the other
}

// Sweep says which trials with kills a matrix runs. It always runs each scenario without kills. The
// zero value runs all trials.
type Sweep struct {
	// part counts from 0, and the parts of a whole have all of its trials.
	part, parts int
	// none runs no trial with kills. one runs one for each scenario, which choice chooses. pairs runs
	// trials with two kills at any calls, which choice chooses.
	none, one, pairs bool
	choice           uint64
	// share counts from 0, and so many shares of the trials run beside each other.
	share, shares int
}

// pairsEach is the number of trials with two kills of each scenario.
const pairsEach = 12

// ParseSweep reads a sweep: "2/4" for the second of four parts, "one:7" for one trial with kills of
// each scenario, which the number chooses, "pairs:7" for trials with two kills, which the number
// chooses, "none", or "" for all trials.
func ParseSweep(text string) (Sweep, error) {
	switch text {
	case "":
		return Sweep{}, nil
	case "none":
		return Sweep{none: true}, nil
	}
	if which, number, chosen := strings.Cut(text, ":"); chosen && (which == "one" || which == "pairs") {
		choice, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			return Sweep{}, fmt.Errorf("%q is no part of the kills: give a whole number, as in one:7", text)
		}
		return Sweep{one: which == "one", pairs: which == "pairs", choice: choice}, nil
	}
	var part, parts int
	// What the numbers print as must be the text, since Sscanf ignores what follows them.
	_, err := fmt.Sscanf(text, "%d/%d", &part, &parts)
	if err != nil || fmt.Sprintf("%d/%d", part, parts) != text || part < 1 || part > parts {
		return Sweep{}, fmt.Errorf(
			"%q is no part of the kills: give a part such as 2/4, one:7, pairs:7, none, or nothing for all", text,
		)
	}
	return Sweep{part: part - 1, parts: parts}, nil
}

// Share returns one of several shares of the sweep's trials, which count from 0.
func (s Sweep) Share(share, shares int) Sweep {
	s.share, s.shares = share, shares
	return s
}

// takes reports whether the sweep has a scenario's trial of the index, of so many.
func (s Sweep) takes(index, of int) bool {
	parts := max(s.parts, 1)
	switch {
	case s.none:
		return false
	case s.one && uint64(index) != s.choice%uint64(of), index%parts != s.part:
		return false
	}
	return s.shares == 0 || index/parts%s.shares == s.share
}

// kills are those of each trial with kills of a scenario.
func (s Sweep) kills(scenario *Scenario, calls []Call) [][]Kill {
	if !s.pairs {
		return grouped(calls, scenario.Alone)
	}
	var pairs [][]Kill
	for n := range pairsEach {
		if scenario.Alone {
			break // it is too short for two kills
		}
		chosen := func(which string) Kill {
			share := draw.Share(s.choice, scenario.title(), fmt.Sprint(n), which)
			at := int(share * float64(2*len(calls)))
			return Kill{Call: calls[at/2], After: at%2 == 1}
		}
		if one, other := chosen("one"), chosen("other"); one != other {
			pairs = append(pairs, []Kill{one, other})
		}
	}
	return pairs
}

// Merge adds the rows of several shares of the scenarios' trials. A scenario without a row is left
// out.
func Merge(scenarios []Scenario, shares [][]*Row) []*Row {
	var rows []*Row
	for i := range scenarios {
		var whole *Row
		for _, row := range slices.Concat(shares...) {
			switch {
			case row.Title != scenarios[i].title():
			case whole == nil:
				whole = row
				whole.Scenario = &scenarios[i]
				rows = append(rows, whole)
			default:
				whole.Kills, whole.Trials, whole.Took = whole.Kills+row.Kills, whole.Trials+row.Trials, whole.Took+row.Took
				whole.Missed, whole.Moved = append(whole.Missed, row.Missed...), append(whole.Moved, row.Moved...)
				whole.Faults = append(whole.Faults, row.Faults...)
				maps.Copy(whole.Names, row.Names)
			}
		}
	}
	return rows
}

// Matrix runs the scenarios in several worlds side by side: each first without kills, then with
// kills at each of its function's calls. It calls Finished after the last trial of each scenario.
type Matrix struct {
	Worlds   []*World
	Sweep    Sweep
	Finished func(*Row)

	mutex sync.Mutex
	left  map[*Row]int
}

// Run runs all trials. The error is for a world that cannot be used; violations are in the rows.
func (m *Matrix) Run(ctx context.Context, scenarios []Scenario) ([]*Row, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m.left = map[*Row]int{}
	var rows []*Row
	// Each undisturbed trial adds its kills, so the number of trials is not known ahead.
	queue := &jobs{waiting: make(chan struct{}, 1)}
	for i := range scenarios {
		row := &Row{Title: scenarios[i].title(), Scenario: &scenarios[i]}
		rows = append(rows, row)
		queue.add(job{row: row})
	}
	failed := make([]error, len(m.Worlds))
	var group sync.WaitGroup
	for i, world := range m.Worlds {
		group.Add(1)
		go func() {
			defer group.Done()
			for {
				next, more := queue.take(ctx)
				if !more {
					return
				}
				if failed[i] = m.try(ctx, world, queue, next); failed[i] != nil {
					cancel()
					return
				}
				queue.done()
			}
		}()
	}
	group.Wait()
	return rows, errors.Join(append(failed, context.Cause(ctx))...)
}

// try runs one trial. A trial that was cut short counts for nothing.
func (m *Matrix) try(ctx context.Context, world *World, queue *jobs, next job) error {
	began := time.Now()
	outcome, err := world.Try(ctx, next.row.Scenario, next.kills)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	row := next.row
	row.Trials++
	row.Took += time.Since(began)
	if row.Names == nil {
		row.Names = map[string]bool{}
	}
	for _, call := range outcome.Calls {
		row.Names[call.Name] = true
	}
	if len(outcome.Faults) > 0 {
		row.Faults = append(row.Faults, Fault{Kills: outcome.Kills, Texts: outcome.Faults, Log: outcome.Log})
	}
	switch len(next.kills) {
	case 0:
		m.undisturbed(queue, next, outcome)
	case 1:
		m.alone(queue, next, outcome)
	default:
		m.together(queue, next, outcome)
	}
	if m.left[row] == 0 && m.Finished != nil {
		m.Finished(row)
	}
	return nil
}

// undisturbed records a trial without kills, and adds the trials with a kill at each of its calls.
// It is called with the lock held.
func (m *Matrix) undisturbed(queue *jobs, next job, outcome Outcome) {
	row := next.row
	row.Calls = len(outcome.Calls)
	if len(outcome.Faults) > 0 {
		return
	}
	groups := m.Sweep.kills(row.Scenario, outcome.Calls)
	for i, kills := range groups {
		if m.Sweep.takes(i, len(groups)) {
			m.add(queue, job{row: row, kills: kills, pair: m.Sweep.pairs})
		}
	}
}

// alone records a trial with one kill. A kill that did not happen is tried again. A slow machine can give
// a scenario one invocation more or less. Then the call is made in others, where other trials kill it.
// It is called with the lock held.
func (m *Matrix) alone(queue *jobs, next job, outcome Outcome) {
	m.left[next.row]--
	next.tried++
	switch {
	case len(outcome.Kills) > 0:
		next.row.Kills++
	case next.tried == triesAlone:
		kill := next.kills[0]
		elsewhere := slices.ContainsFunc(outcome.Calls, func(made Call) bool {
			return made.Name == kill.Name && made.Kind == kill.Kind && made.Nth == kill.Nth
		})
		if elsewhere {
			next.row.Moved = append(next.row.Moved, kill)
		} else {
			next.row.Missed = append(next.row.Missed, kill)
		}
	default:
		m.add(queue, next)
	}
}

// together records a trial with several kills. Each kill that did not happen is tried alone, unless
// one of a pair kept the other from its call. It is called with the lock held.
func (m *Matrix) together(queue *jobs, next job, outcome Outcome) {
	m.left[next.row]--
	for _, kill := range next.kills {
		if slices.Contains(outcome.Kills, kill) {
			next.row.Kills++
		} else if !next.pair {
			m.add(queue, job{row: next.row, kills: []Kill{kill}})
		}
	}
}

// add queues a trial. It is called with the lock held.
func (m *Matrix) add(queue *jobs, one job) {
	queue.add(one)
	m.left[one.row]++
}

// jobs is the queue of trials to run, with a count of those under way.
type jobs struct {
	mutex    sync.Mutex
	list     []job
	underWay int
	waiting  chan struct{}
}

func (j *jobs) add(one job) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	j.list = append(j.list, one)
	j.announce()
}

// take waits for a job. It returns false when none is left and none under way can add one.
func (j *jobs) take(ctx context.Context) (next job, more bool) {
	for {
		j.mutex.Lock()
		if len(j.list) > 0 {
			// The newest comes first, so that a scenario is finished before the next begins.
			next, j.list = j.list[len(j.list)-1], j.list[:len(j.list)-1]
			j.underWay++
			if len(j.list) > 0 {
				j.announce()
			}
			j.mutex.Unlock()
			return next, true
		}
		over := j.underWay == 0
		if over {
			j.announce() // the others are to see it too
		}
		j.mutex.Unlock()
		if over {
			return job{}, false
		}
		select {
		case <-j.waiting:
		case <-ctx.Done():
			return job{}, false
		}
	}
}

func (j *jobs) done() {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	j.underWay--
	j.announce()
}

// announce wakes one waiting worker.
func (j *jobs) announce() {
	select {
	case j.waiting <- struct{}{}:
	default:
	}
}
