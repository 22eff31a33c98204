package simulate

import (
	"fmt"
	"time"
)

// weather is how bad the world of one seed is. Each kind of fault is absent in some seeds, so that seeds
// differ in what they try.
type weather struct {
	run *Run
	// ends is when the last fault may begin.
	ends time.Time

	dropped, lost, late, slow, refused, killed float64 // probabilities of a call
	duplicates, lateMessages                   float64 // probabilities of a message
	stormEvery                                 time.Duration
	clocks                                     time.Duration // how far a clock may be off

	cacheLag, watchLag, scheduleLag            time.Duration
	awsLag, pending, shuttingDown, propagation time.Duration
	forget                                     time.Duration
	silentRepeats                              bool
	leastBoot, mostBoot, mostReady             time.Duration
	slowestBoot                                time.Duration // that a machine may have been given so far
	// Probabilities a machine: that it never joins, that it fails, that EC2 takes it back alone, and
	// that its kubelet loses the way to the API servers.
	noJoin, fails, interrupted, cut float64
	// spotFailures is how many pools of spot capacity fail.
	spotFailures int
}

// make draws the weather of the seed.
func (r *Run) makeWeather() *weather {
	e := r.engine
	w := &weather{run: r, ends: r.ends.Add(-calm)}
	rate := func(most float64, name string) float64 {
		if r.options.Calm || e.Chance(0.35, "weather", name, "absent") {
			return 0
		}
		return most * e.Share("weather", name)
	}
	w.dropped, w.lost, w.late = rate(0.03, "dropped"), rate(0.03, "lost"), rate(0.02, "late")
	w.slow, w.refused, w.killed = rate(0.05, "slow"), rate(0.05, "refused"), rate(0.03, "killed")
	w.duplicates, w.lateMessages = rate(0.3, "duplicates"), rate(0.3, "late messages")
	w.noJoin, w.fails, w.interrupted = rate(0.15, "no join"), rate(0.1, "fails"), rate(0.08, "interrupted")
	if rate(1, "spot failures") > 0 {
		w.spotFailures = e.Number(1, 4, "weather", "how many spot failures")
	}
	w.cut = rate(0.2, "cut")
	w.clocks = time.Duration(rate(float64(30*time.Second), "clocks"))
	w.cacheLag = time.Duration(rate(float64(20*time.Second), "cache lag"))
	w.watchLag = time.Duration(rate(float64(5*time.Second), "watch lag"))
	w.scheduleLag = time.Duration(rate(float64(59*time.Second), "schedule lag"))
	w.awsLag = time.Duration(rate(float64(time.Minute), "aws lag"))
	w.propagation = time.Duration(rate(float64(20*time.Second), "propagation"))
	w.silentRepeats = rate(1, "silent repeats") > 0
	w.pending = e.Between(time.Second, 15*time.Second, "weather", "pending")
	w.shuttingDown = e.Between(2*time.Second, 3*time.Minute, "weather", "shutting down")
	w.forget = e.Between(time.Minute, time.Hour, "weather", "forget")
	least := e.Between(10*time.Second, 40*time.Second, "weather", "least boot")
	w.boot(least, least+e.Between(time.Second, time.Minute, "weather", "most boot"))
	w.mostReady = 15 * time.Second
	if rate(1, "storms") > 0 {
		w.stormEvery = e.Between(2*time.Minute, 8*time.Minute, "weather", "storm")
	}
	return w
}

// boot sets how long machines boot that are launched from now on.
func (w *weather) boot(least, most time.Duration) {
	w.leastBoot, w.mostBoot, w.slowestBoot = least, most, max(w.slowestBoot, most)
}

// bad reports whether faults may happen now.
func (w *weather) bad() bool {
	return !w.run.options.Calm && time.Now().Before(w.ends) && w.run.prepared
}

// fate is what becomes of a call.
type fate struct {
	dropped, lost, refused, killBefore, killAfter bool
	late, delay, delayBack                        time.Duration
}

// happens decides whether a fault happens, and notes it.
func (w *weather) happens(probability float64, kind, name string) bool {
	if !w.bad() || !w.run.engine.Chance(probability, kind, name) || w.run.options.Skip[kind+" "+name] {
		return false
	}
	w.run.result.Faults = append(w.run.result.Faults, kind+" "+name)
	return true
}

// fate draws what becomes of a call. At most one thing goes wrong.
func (w *weather) fate(c *call) fate {
	e := w.run.engine
	switch {
	case w.happens(w.killed/2, "kill-before", c.name):
		return fate{killBefore: true}
	case w.happens(w.killed/2, "kill-after", c.name):
		return fate{killAfter: true}
	case w.happens(w.dropped, "drop", c.name):
		return fate{dropped: true}
	case w.happens(w.lost, "lose-answer", c.name):
		return fate{lost: true}
	case w.happens(w.late, "late", c.name):
		return fate{late: e.Between(5*time.Second, 2*time.Minute, c.name, "how late")}
	case w.happens(w.slow, "slow", c.name):
		return fate{
			delay:     e.Between(0, 6*time.Second, c.name, "slow there"),
			delayBack: e.Between(0, 6*time.Second, c.name, "slow back"),
		}
	case w.happens(w.stormy(), "refuse", c.name):
		return fate{refused: true}
	}
	return fate{}
}

// stormy is the probability that a service refuses a call now, because it has too much to do.
func (w *weather) stormy() float64 {
	if w.stormEvery == 0 {
		return w.refused
	}
	turn := time.Since(w.run.began) / w.stormEvery
	begins := w.run.engine.Between(0, w.stormEvery-20*time.Second, "storm", fmt.Sprint(int64(turn)))
	if since := time.Since(w.run.began) - turn*w.stormEvery; since >= begins && since < begins+20*time.Second {
		return 0.7
	}
	return w.refused
}

// killDuring decides whether a function is killed some time after its start.
func (w *weather) killDuring(i *invocation) (after time.Duration, killed bool) {
	if !w.happens(w.killed, "kill", i.name) {
		return 0, false
	}
	most := 10 * time.Second
	if i.function == "watch" {
		most = 5 * time.Minute
	}
	return w.run.engine.Between(0, most, i.name, "kill after"), true
}

// skew is how far the clock of a container is off.
func (w *weather) skew(name string) time.Duration {
	if !w.bad() || w.clocks == 0 || w.run.options.Skip["clock "+name] {
		return 0
	}
	off := w.run.engine.Between(-w.clocks, w.clocks, "clock", name).Truncate(time.Millisecond)
	w.run.result.Faults = append(w.run.result.Faults, "clock "+name)
	return off
}
