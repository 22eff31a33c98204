package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// pod is what has become of a pod on the node.
type pod struct {
	seen       *corev1.Pod // as the API had it last
	timing     Timing
	since      time.Time // when the kubelet first saw it
	demand     demand
	refusal    refusal
	containers []*container // in the order in which they start
	begun      int          // how many of them have begun
	// begins is when its network is there and its containers may start; zero while it waits for its
	// volumes. over is when nothing of it runs any more.
	begins, over time.Time
	ip           string
	grace        time.Duration // while its containers are stopped; zero before
	lost         bool          // the API no longer has it
	changed      bool          // since the last verdict
	conditions   []corev1.PodCondition
}

// newPod is a pod that the kubelet sees for the first time. What ran before the machine booted has
// ended.
func newPod(seen *corev1.Pod, at Moment) *pod {
	p := &pod{
		seen: seen, timing: at.Timing, since: at.Now, changed: true, ip: seen.Status.PodIP,
		conditions: seen.Status.Conditions,
	}
	before := map[string]*corev1.ContainerStatus{}
	for _, statuses := range [][]corev1.ContainerStatus{seen.Status.InitContainerStatuses, seen.Status.ContainerStatuses} {
		for i := range statuses {
			before[statuses[i].Name] = &statuses[i]
		}
	}
	add := func(spec *corev1.Container, role role) {
		c := &container{spec: spec, role: role}
		if status := before[spec.Name]; status != nil {
			c.counted = status.RestartCount
			if status.State.Running != nil {
				c.counted++
				c.since, c.exit = status.State.Running.StartedAt.Time, lostCode
			}
		}
		p.containers = append(p.containers, c)
	}
	for i := range seen.Spec.InitContainers {
		spec := &seen.Spec.InitContainers[i]
		if isSidecar(spec) {
			add(spec, sidecar)
		} else {
			add(spec, initial)
		}
	}
	for i := range seen.Spec.Containers {
		add(&seen.Spec.Containers[i], regular)
	}
	if p.ended() {
		p.over, p.changed = at.Now, false
	} else if seen.DeletionTimestamp != nil {
		p.crash(at.Now)
		p.over = at.Now
	}
	return p
}

// lostCode is the exit code of a container that ended with its machine.
const lostCode = 255

// crash ends the regular containers that ran before the machine booted, and reports whether there
// are any.
func (p *pod) crash(at time.Time) (found bool) {
	for _, c := range p.containers {
		if c.exit == lostCode && c.role == regular {
			c.counted--
			c.finish(at)
			found = true
		}
	}
	return found
}

// ended reports whether the API has the pod as one that has ended.
func (p *pod) ended() bool {
	return p.seen.Status.Phase == corev1.PodSucceeded || p.seen.Status.Phase == corev1.PodFailed
}

// admit admits the pod beside others, or rejects it. Pods that the API no longer has do not count, although
// their containers may still run: the kubelet forgets them at once (GetActivePods, HandlePodRemoves).
func (p *pod) admit(at Moment, others map[types.UID]*pod) {
	p.demand = demandOf(p.seen)
	r := room{node: at.Node}
	for _, other := range others {
		if other.over.IsZero() && !other.lost {
			r.others = append(r.others, other.demand)
		}
	}
	if p.refusal = r.refuses(p.seen, p.demand); p.refusal.reason != "" {
		p.over = at.Now
		return
	}
	if p.seen.Spec.RestartPolicy == corev1.RestartPolicyNever && p.crash(at.Now) {
		p.over = at.Now
	}
}

// next returns the container whose next change is the first one; nil for none.
func (p *pod) next() *container {
	var first *container
	for _, c := range p.containers {
		if len(c.due) > 0 && (first == nil || c.due[0].at.Before(first.due[0].at)) {
			first = c
		}
	}
	return first
}

// advance lets everything happen that was due by now.
func (p *pod) advance(k *Kubelet, now time.Time) {
	if p.begun == 0 && p.grace == 0 && p.over.IsZero() && !p.begins.IsZero() && !p.begins.After(now) {
		p.changed = true
		p.begin(k, p.begins)
	}
	for c := p.next(); c != nil && !c.due[0].at.After(now); c = p.next() {
		p.changed = true
		due := c.due[0]
		c.due = c.due[1:]
		p.happen(k, c, due)
	}
}

// begin begins the next container: it pulls its image, and then it runs.
func (p *pod) begin(k *Kubelet, at time.Time) {
	c := p.containers[p.begun]
	p.begun++
	c.plan(change{k.image(c, p, at), runs})
}

// isLatest reports whether the container is the last one that has begun, and another one is to
// follow.
func (p *pod) isLatest(c *container) bool {
	return p.begun < len(p.containers) && p.containers[p.begun-1] == c
}

// happen lets a change of a container happen. The next container begins when an init container has
// ended, a sidecar has started, or a regular container runs.
func (p *pod) happen(k *Kubelet, c *container, due change) {
	switch due.what {
	case runs:
		c.run(p, due.at)
		if c.role == regular && p.isLatest(c) {
			p.begin(k, due.at)
		}
	case starts:
		c.started = true
		if c.role == sidecar && p.isLatest(c) && p.grace == 0 {
			p.begin(k, due.at)
		}
	case getsReady:
		c.ready = c.role != initial
	case getsUnready:
		c.ready = false
	case ends:
		c.finish(due.at)
		p.follow(k, c, due.at)
	}
}

// follow is what follows the end of a container.
func (p *pod) follow(k *Kubelet, c *container, at time.Time) {
	switch {
	case p.grace > 0:
		p.rest(at)
	case c.role == initial && c.exit == 0:
		p.begin(k, at)
	case p.restarts(c):
		c.restart(p, at)
	case c.role == initial || p.done():
		p.stop(at, p.ownGrace())
	}
}

// restarts reports whether the container that has ended runs again.
func (p *pod) restarts(c *container) bool {
	switch p.seen.Spec.RestartPolicy {
	case corev1.RestartPolicyNever:
		return c.role == sidecar
	case corev1.RestartPolicyOnFailure:
		return c.role == sidecar || c.exit != 0
	}
	return true
}

// done reports whether all regular containers have ended for good.
func (p *pod) done() bool {
	for _, c := range p.containers {
		if c.role == regular && (c.now == nil || p.restarts(c)) {
			return false
		}
	}
	return true
}

// ownGrace is the grace period of the pod's specification.
func (p *pod) ownGrace() time.Duration {
	if seconds := p.seen.Spec.TerminationGracePeriodSeconds; seconds != nil {
		return time.Duration(*seconds) * time.Second
	}
	return corev1.DefaultTerminationGracePeriodSeconds * time.Second
}

// leastGrace is the shortest grace period of a kubelet.
const leastGrace = time.Second

// stop stops all containers within the grace. Sidecars stop after the others, the last one first. A
// longer grace than before changes nothing.
func (p *pod) stop(at time.Time, grace time.Duration) {
	grace = max(grace, leastGrace)
	if !p.over.IsZero() || p.grace > 0 && grace >= p.grace {
		return
	}
	p.grace = grace
	turn := at
	for _, c := range p.containers {
		if c.role != sidecar {
			turn = later(turn, p.stopOne(c, at, at))
		}
	}
	for i := len(p.containers) - 1; i >= 0; i-- {
		if p.containers[i].role == sidecar {
			turn = later(turn, p.stopOne(p.containers[i], at, turn))
		}
	}
	p.rest(at)
}

// stopOne stops a container at its turn, and returns when it ends.
func (p *pod) stopOne(c *container, at, turn time.Time) time.Time {
	if !c.running {
		c.due = nil
		return at
	}
	return c.stop(p, at, turn, p.grace)
}

// rest notes that the pod is over, unless a container runs.
func (p *pod) rest(at time.Time) {
	for _, c := range p.containers {
		if c.running {
			return
		}
	}
	p.over, p.changed = at, true
}
