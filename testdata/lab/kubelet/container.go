package kubelet

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// role is what a container is for.
type role int

const (
	initial role = iota // an init container
	sidecar             // an init container that restarts always
	regular
)

// change is something that happens to a container at a time of its own.
type change struct {
	at   time.Time
	what event
}

// event is a kind of change. Of those of one moment, the smaller one comes first.
type event int

const (
	runs event = iota
	starts
	getsReady
	getsUnready
	ends
)

// container is what has become of a container of a pod.
type container struct {
	spec    *corev1.Container
	role    role
	due     []change // in order
	runs    int      // how often it has run on this machine
	counted int32    // its restarts before

	running, started, ready bool
	since                   time.Time // when it began to run
	own, stopped            ending    // by itself, and because somebody stops it
	stops                   time.Time // from when somebody stops it
	exit                    int32     // the code of the end that is planned
	reason                  string    // why its next run has to wait
	backoff                 time.Duration
	last, now               *corev1.ContainerStateTerminated // how the run before ended, and this one
}

// ending is an end of a run. One at the zero time never comes.
type ending struct {
	at   time.Time
	code int32
}

func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// plan puts changes in order. Changes at the zero time never happen.
func (c *container) plan(changes ...change) {
	c.due = append(c.due, slices.DeleteFunc(changes, func(one change) bool { return one.at.IsZero() })...)
	slices.SortStableFunc(c.due, func(a, b change) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.what, b.what)) })
}

// end plans the end of the run that comes first, and returns when it is.
func (c *container) end() time.Time {
	first := c.own
	if at := c.stopped.at; !at.IsZero() && (first.at.IsZero() || at.Before(first.at)) {
		first = c.stopped
	}
	c.exit = first.code
	c.due = slices.DeleteFunc(c.due, func(one change) bool { return one.what == ends })
	c.plan(change{first.at, ends})
	return first.at
}

// run begins a run of the container, and plans what its probes and its program will do.
func (c *container) run(p *pod, at time.Time) {
	c.runs++
	c.running, c.since, c.reason = true, at, ""
	c.own, c.stopped, c.stops = ending{}, ending{}, time.Time{}
	alive := c.duration(p.seen, AliveAfter, 0)
	health := health{
		alive: at.Add(alive), ready: at.Add(c.duration(p.seen, ReadyAfter, alive)),
		sick: at.Add(c.duration(p.seen, UnhealthyAfter, never)),
	}
	started, failed := at, time.Time{}
	var why *corev1.Probe
	if probe := c.spec.StartupProbe; probe != nil {
		started, failed, _ = settle(probe, at, health.alive, health.sick)
		why = probe
		if !failed.IsZero() {
			started = time.Time{}
		}
	}
	if !started.IsZero() {
		ready, unready := started, time.Time{}
		if probe := c.spec.ReadinessProbe; probe != nil {
			ready, _, unready = settle(probe, later(at.Add(delay(probe)), started), health.ready, health.sick)
		}
		c.plan(change{started, starts}, change{ready, getsReady}, change{unready, getsUnready})
		if probe := c.spec.LivenessProbe; probe != nil {
			_, early, late := settle(probe, later(at.Add(delay(probe)), started), health.alive, health.sick)
			failed, why = firstOf(early, late), probe
		}
	}
	missing := never
	if c.role == initial {
		missing = 0
	}
	if d := c.duration(p.seen, RunFor, missing); d < never {
		c.own = ending{at.Add(d), c.exitCode(p.seen)}
	}
	c.end()
	if !failed.IsZero() {
		grace := p.ownGrace()
		if why.TerminationGracePeriodSeconds != nil {
			grace = time.Duration(*why.TerminationGracePeriodSeconds) * time.Second
		}
		c.stop(p, failed, failed, grace)
	}
}

// health is when a container answers its probes.
type health struct{ alive, ready, sick time.Time }

func delay(probe *corev1.Probe) time.Duration {
	return time.Duration(probe.InitialDelaySeconds) * time.Second
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// firstOf returns the earlier of two times. The zero time is none.
func firstOf(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// settle returns when a probe has succeeded, when it has failed before that, and when it has failed
// after that. A zero time is never. Its first try is at from, and the container answers from good
// until bad.
func settle(probe *corev1.Probe, from, good, bad time.Time) (success, early, late time.Time) {
	period := time.Duration(cmp.Or(probe.PeriodSeconds, 10)) * time.Second
	failures := time.Duration(cmp.Or(probe.FailureThreshold, 3))
	tries := func(until time.Time) time.Duration { // how many tries are before the time
		return max(0, (until.Sub(from)+period-1)/period)
	}
	vain := tries(good)
	if vain >= failures {
		early = from.Add((failures - 1) * period)
	}
	success = from.Add((vain + time.Duration(cmp.Or(probe.SuccessThreshold, 1)) - 1) * period)
	if !success.Before(bad) {
		success = time.Time{}
	}
	if bad.Sub(from) < never/2 {
		late = from.Add((tries(bad) + failures - 1) * period)
	}
	return success, early, late
}

// minimalStop is how long a container has after SIGTERM even where nothing is left of the grace.
const minimalStop = 2 * time.Second

// stop lets the container end: from the time on its preStop hook runs, at its turn or after it
// comes SIGTERM, and when the grace is over SIGKILL. It returns when the container ends, which may
// be earlier.
func (c *container) stop(p *pod, at, turn time.Time, grace time.Duration) time.Time {
	term := later(at.Add(min(preStop(c.spec), grace)), turn)
	if limit := at.Add(grace); term.After(limit) {
		term = limit
	}
	left := max(grace-term.Sub(at), minimalStop)
	takes := c.duration(p.seen, StopFor, p.timing.Stop)
	end := term.Add(min(takes, left))
	// A probe that has not failed before the pod ends fails no more.
	if c.stopped.at.IsZero() || at.Before(c.stops) || end.Before(c.stopped.at) {
		c.stopped, c.stops = ending{at: end}, at
		switch {
		case takes > left:
			c.stopped.code = 137 // SIGKILL
		case !c.own.at.IsZero():
			c.stopped.code = 143 // SIGTERM, in the middle of its work
		}
	}
	return c.end()
}

// finish ends the run that goes on.
func (c *container) finish(at time.Time) {
	reason := "Completed"
	if c.exit != 0 {
		reason = "Error"
	}
	c.running, c.started, c.due = false, false, nil
	c.ready = c.role == initial && c.exit == 0
	c.now = &corev1.ContainerStateTerminated{
		ExitCode: c.exit, Reason: reason, StartedAt: metav1.NewTime(c.since), FinishedAt: metav1.NewTime(at),
		ContainerID: c.id(),
	}
}

// The delays between restarts: none at first, then from firstBackOff up to mostBackOff, each twice
// the one before. A run of resetAfter begins anew.
const (
	firstBackOff = 10 * time.Second
	mostBackOff  = 5 * time.Minute
	resetAfter   = 10 * time.Minute
)

// restart plans the next run of a container that has ended.
func (c *container) restart(p *pod, at time.Time) {
	if at.Sub(c.since) >= resetAfter {
		c.backoff = 0
	}
	wait := c.backoff
	c.backoff = min(max(2*c.backoff, firstBackOff), mostBackOff)
	c.plan(change{at.Add(wait), runs})
	c.last, c.now, c.ready = c.now, nil, false
	c.reason = fmt.Sprintf("back-off %s restarting failed container=%s pod=%s_%s(%s)", wait, c.spec.Name, p.seen.Name,
		p.seen.Namespace, p.seen.UID)
}

func (c *container) id() string {
	return fmt.Sprintf("containerd://simulated-%s-%d", c.spec.Name, c.runs)
}

// restarts is the container's number of restarts.
func (c *container) restarts() int32 { return c.counted + int32(max(c.runs-1, 0)) }

// status is the container as its pod's status shows it.
func (c *container) status(initializing bool) corev1.ContainerStatus {
	started := c.started
	s := corev1.ContainerStatus{
		Name: c.spec.Name, Image: c.spec.Image, Ready: c.ready, Started: &started, RestartCount: c.restarts(),
	}
	if c.runs > 0 {
		s.ImageID, s.ContainerID = c.spec.Image, c.id()
	}
	if c.last != nil {
		s.LastTerminationState.Terminated = c.last
	}
	switch {
	case c.running:
		s.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(c.since)}
	case c.now != nil:
		s.State.Terminated = c.now
	case c.reason != "":
		s.State.Waiting = &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: c.reason}
	case initializing:
		s.State.Waiting = &corev1.ContainerStateWaiting{Reason: "PodInitializing"}
	default:
		s.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
	}
	return s
}
