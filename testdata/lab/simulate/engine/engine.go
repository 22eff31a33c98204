package engine

import (
	"container/heap"
	"fmt"
	"hash"
	"hash/fnv"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/draw"
)

// Engine runs the events of a simulation one after the other. Only Arrive may be called from several
// goroutines at once.
type Engine struct {
	seed    uint64
	events  events
	count   uint64
	hash    hash.Hash64
	steps   int
	after   func() // runs after each event
	stopped bool

	mutex   sync.Mutex
	arrived []arrival
	wake    chan struct{}
}

// event is something that happens at a time.
type event struct {
	at   time.Time
	turn uint64 // the order of events of one time
	run  func()
}

// arrival is something that a goroutine of the product, or a timer, has brought about.
type arrival struct {
	key string
	run func()
}

// New returns an engine without events. It must be made in the bubble in which it runs. After runs after
// each event.
func New(seed uint64, after func()) *Engine {
	return &Engine{seed: seed, hash: fnv.New64a(), after: after, wake: make(chan struct{}, 1)}
}

// At lets f run at a time, or at once for a time that has passed.
func (e *Engine) At(at time.Time, f func()) {
	e.count++
	heap.Push(&e.events, event{at: at, turn: e.count, run: f})
}

// In lets f run after a time.
func (e *Engine) In(after time.Duration, f func()) { e.At(time.Now().Add(after), f) }

// Every lets f run again and again, for the first time after the first duration.
func (e *Engine) Every(first, period time.Duration, f func()) {
	e.In(first, func() {
		f()
		e.Every(period, period, f)
	})
}

// Arrive lets f run when all goroutines wait. Of several that arrive at one moment, the one with the
// smaller key runs first. Two with equal keys must be interchangeable.
func (e *Engine) Arrive(key string, f func()) {
	e.mutex.Lock()
	e.arrived = append(e.arrived, arrival{key, f})
	e.mutex.Unlock()
	select {
	case e.wake <- struct{}{}:
	default: // the engine is awake already
	}
}

// admit runs what has arrived, in order.
func (e *Engine) admit() (any bool) {
	e.mutex.Lock()
	arrived := e.arrived
	e.arrived = nil
	e.mutex.Unlock()
	slices.SortStableFunc(arrived, func(a, b arrival) int {
		switch {
		case a.key < b.key:
			return -1
		case a.key > b.key:
			return 1
		}
		return 0
	})
	for _, one := range arrived {
		one.run()
	}
	return len(arrived) > 0
}

// Run lets everything happen until the time, or until Stop.
func (e *Engine) Run(until time.Time) {
	for !e.stopped {
		synctest.Wait()
		if e.admit() {
			continue
		}
		now := time.Now()
		if !now.Before(until) {
			return
		}
		next := until
		if len(e.events) > 0 && e.events[0].at.Before(until) {
			next = e.events[0].at
		}
		if next.After(now) {
			e.sleep(next.Sub(now))
			continue
		}
		due, _ := heap.Pop(&e.events).(event)
		e.steps++
		due.run()
		e.after()
	}
}

// sleep waits until the time has passed or something arrives.
func (e *Engine) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-e.wake:
	}
}

// Stop ends Run after the event that runs.
func (e *Engine) Stop() { e.stopped = true }

// Steps is the number of events so far.
func (e *Engine) Steps() int { return e.steps }

// Note adds something that happened to the hash of the run.
func (e *Engine) Note(line string) { _, _ = e.hash.Write([]byte(line + "\n")) } // a hash takes everything

// Hash tells two runs apart.
func (e *Engine) Hash() string { return fmt.Sprintf("%016x", e.hash.Sum64()) }

// Share returns a number from 0 to 1, 1 excluded, that depends on the seed and the name.
func (e *Engine) Share(name ...string) float64 { return draw.Share(e.seed, name...) }

// Chance reports whether something with the probability happens.
func (e *Engine) Chance(probability float64, name ...string) bool {
	return probability > 0 && e.Share(name...) < probability
}

// Between returns a duration from least to most.
func (e *Engine) Between(least, most time.Duration, name ...string) time.Duration {
	return draw.Between(e.seed, least, most, name...)
}

// Number returns a whole number from least to most, both included.
func (e *Engine) Number(least, most int, name ...string) int {
	return least + int(e.Share(name...)*float64(most-least+1))
}

// Seed is the seed of all choices.
func (e *Engine) Seed() uint64 { return e.seed }

// events is a heap of events by time and turn.
type events []event

func (e events) Len() int { return len(e) }

func (e events) Less(i, j int) bool {
	if !e[i].at.Equal(e[j].at) {
		return e[i].at.Before(e[j].at)
	}
	return e[i].turn < e[j].turn
}

func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

func (e *events) Push(x any) {
	one, _ := x.(event)
	*e = append(*e, one)
}

func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}
