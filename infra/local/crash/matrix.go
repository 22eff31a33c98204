package crash

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

// Row is what came of a story.
type Row struct {
	Story  *Story
	Calls  int // that its function made, undisturbed
	Kills  int
	Missed []Kill // that did not come about: the call did not come again
	died   map[death]bool
	Told   int // how often
	Took   time.Duration
	Faults []Fault
	Names  map[string]bool // of the calls
}

// death is a call by its name at which the function died somewhere in the story, before it or after it.
type death struct {
	name  string
	after bool
}

// count notes a kill that has come about.
func (r *Row) count(kill Kill) {
	r.Kills++
	if r.died == nil {
		r.died = map[death]bool{}
	}
	r.died[death{kill.Name, kill.After}] = true
}

// Fault is something that a kill has brought about, or that happens without one.
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

// triesAlone is how often a kill is tried by itself that does not come about: what a function
// does in a round depends on the second of the minute too, and the machine is not always as
// quick, so that what it did in one invocation it may do in one of those around it.
const triesAlone = 5

// again is a kill that has been tried so often by itself, for another try: one invocation
// earlier than the first time, one later, two earlier, two later.
func again(kill Kill, tried int) Kill {
	if tried%2 == 1 {
		kill.Invocation -= tried
	} else {
		kill.Invocation += tried
	}
	return kill
}

// job is one telling that is to be done.
type job struct {
	row   *Row
	kills []Kill
	tried int  // how often the kill was tried by itself before
	asked Kill // the one that it was to be, once it was tried
}

// Matrix tells the stories, each undisturbed and then with a kill at each of its function's
// calls, in the worlds side by side. told is called for each story when it is through.
type Matrix struct {
	Worlds []*World
	Told   func(*Row)

	mutex sync.Mutex
	left  map[*Row]int
}

// Run tells the stories. The error is for what could not be told; faults are in the rows.
func (m *Matrix) Run(ctx context.Context, stories []Story) ([]*Row, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m.left = map[*Row]int{}
	var rows []*Row
	// Each undisturbed telling adds its kills, so that what is left to do is not known ahead.
	queue := &jobs{waiting: make(chan struct{}, 1)}
	for i := range stories {
		row := &Row{Story: &stories[i]}
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
				if failed[i] = m.tell(ctx, world, queue, next); failed[i] != nil {
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

// tell does one job.
func (m *Matrix) tell(ctx context.Context, world *World, queue *jobs, next job) error {
	began := time.Now()
	outcome, err := world.Tell(ctx, next.row.Story, next.kills)
	if ctx.Err() != nil {
		return nil // what was told until then counts
	}
	if err != nil {
		return err
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	row := next.row
	row.Told++
	row.Took += time.Since(began)
	if len(outcome.Faults) > 0 {
		row.Faults = append(row.Faults, Fault{Kills: outcome.Kills, Texts: outcome.Faults, Log: outcome.Log})
	}
	switch {
	case len(next.kills) == 0 && outcome.Swept && next.tried < triesAlone:
		next.tried++
		m.add(queue, next)
	case len(next.kills) == 0:
		row.Calls, row.Names = len(outcome.Calls), map[string]bool{}
		for _, call := range outcome.Calls {
			row.Names[call.Name] = true
		}
		if len(outcome.Faults) == 0 {
			for _, kills := range grouped(outcome.Calls, row.Story.Alone) {
				m.add(queue, job{row: row, kills: kills})
			}
		}
	case len(next.kills) == 1:
		m.left[row]--
		switch next.tried++; {
		case len(outcome.Kills) > 0:
			row.count(outcome.Kills[0])
		case next.tried < triesAlone:
			if next.tried == 1 {
				next.asked = next.kills[0]
			}
			next.kills = []Kill{again(next.kills[0], next.tried)}
			m.add(queue, next)
		default:
			row.Missed = append(row.Missed, next.asked)
		}
	default:
		m.left[row]--
		for _, kill := range next.kills {
			if slices.Contains(outcome.Kills, kill) {
				row.count(kill)
			} else {
				m.add(queue, job{row: row, kills: []Kill{kill}})
			}
		}
	}
	if m.left[row] == 0 && m.Told != nil {
		m.Told(row)
	}
	return nil
}

// add has a job done. It is called with the lock held.
func (m *Matrix) add(queue *jobs, one job) {
	queue.add(one)
	m.left[one.row]++
}

// jobs are what is left to do, and under way.
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

// take waits for a job; more is false when there will be none.
func (j *jobs) take(ctx context.Context) (next job, more bool) {
	for {
		j.mutex.Lock()
		if len(j.list) > 0 {
			// The last first: a story is finished before the next begins.
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

// announce wakes one who waits.
func (j *jobs) announce() {
	select {
	case j.waiting <- struct{}{}:
	default:
	}
}
