package kubelet

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Kubelet is what the kubelet of one node has seen since its machine booted. It is not safe for
// concurrent use.
type Kubelet struct {
	pods   map[types.UID]*pod
	images map[string]time.Time // when each image is on the machine
}

// New returns the kubelet of a machine that has just booted.
func New() *Kubelet {
	return &Kubelet{pods: map[types.UID]*pod{}, images: map[string]time.Time{}}
}

// Timing is how long things take where annotations say nothing else.
type Timing struct {
	// Start is the time from the attachment of a pod's volumes to its network, Stop the time from
	// SIGTERM to a container's end, and Pull that of an image.
	Start, Stop, Pull time.Duration
}

// Moment is what a kubelet knows when it looks at a pod.
type Moment struct {
	Now time.Time
	// Node is as the API has it.
	Node *corev1.Node
	// Attached reports whether the pod's volumes are attached to the machine.
	Attached bool
	// HostIP is the machine's address, and PodIP returns that of a new pod; nil for none.
	HostIP string
	PodIP  func() string
	Timing Timing
}

// Verdict is what a kubelet does about a pod.
type Verdict struct {
	// Status is what the kubelet writes: only the fields and conditions that are its own. It is nil if
	// nothing has changed since the last verdict.
	Status *corev1.PodStatus
	// Mounted reports whether the pod has its volumes in use.
	Mounted bool
	// Over reports whether nothing of the pod runs any more, or ever has. Gone reports that it is to
	// be deleted besides, with a grace of zero.
	Over, Gone bool
	// Again is when to look again; zero for not before the pod changes.
	Again time.Time
}

// volumePoll is how often a kubelet asks whether a volume is attached.
const volumePoll = time.Second

// Look returns the verdict about a pod of the node, as the API has it now.
func (k *Kubelet) Look(seen *corev1.Pod, at Moment) Verdict {
	p := k.pods[seen.UID]
	if p == nil {
		p = newPod(seen, at)
		if p.over.IsZero() {
			p.admit(at, k.pods)
		}
		k.pods[seen.UID] = p
	}
	p.seen = seen
	p.changed = p.changed || len(seen.Spec.ReadinessGates) > 0 && p.begun > 0 && p.over.IsZero()
	p.advance(k, at.Now)
	if p.begins.IsZero() && at.Attached && p.grace == 0 && p.over.IsZero() {
		p.begins = at.Now.Add(p.timing.Start)
		p.address(at)
		p.advance(k, at.Now)
	}
	if seen.DeletionTimestamp != nil {
		grace := time.Duration(0)
		if seconds := seen.DeletionGracePeriodSeconds; seconds != nil {
			grace = time.Duration(*seconds) * time.Second
		}
		p.stop(at.Now, grace)
	}
	return p.verdict(k, at)
}

// Lose returns the verdict about a pod that the API no longer has. A pod that was deleted by force
// has the shortest grace, unless it was ending before.
func (k *Kubelet) Lose(uid types.UID, now time.Time) Verdict {
	p := k.pods[uid]
	if p == nil {
		return Verdict{Over: true}
	}
	p.lost = true
	p.advance(k, now)
	if p.grace == 0 {
		p.stop(now, leastGrace)
	}
	v := p.verdict(k, Moment{Now: now})
	v.Status, v.Gone = nil, false
	if v.Over {
		delete(k.pods, uid)
	}
	return v
}

// Pods are the pods that the kubelet knows, in the order of their UIDs.
func (k *Kubelet) Pods() []types.UID { return slices.Sorted(maps.Keys(k.pods)) }

// Runs reports whether the kubelet knows the pod and something of it runs, or may begin to.
func (k *Kubelet) Runs(uid types.UID) bool {
	p := k.pods[uid]
	return p != nil && p.over.IsZero()
}

// verdict is the verdict about the pod now.
func (p *pod) verdict(k *Kubelet, at Moment) Verdict {
	p.advance(k, at.Now)
	over := !p.over.IsZero()
	v := Verdict{Mounted: !p.begins.IsZero() && !over, Over: over, Gone: over && p.seen.DeletionTimestamp != nil}
	if p.changed {
		p.changed = false
		v.Status = p.status(at)
	}
	switch first := p.next(); {
	case over:
	case first != nil:
		v.Again = first.due[0].at
	case p.grace > 0 || p.begun > 0:
	case p.begins.IsZero():
		v.Again = at.Now.Add(volumePoll)
	default:
		v.Again = p.begins
	}
	return v
}

// address gives the pod an address, unless it has one.
func (p *pod) address(at Moment) {
	switch {
	case p.ip != "":
	case p.seen.Spec.HostNetwork:
		p.ip = at.HostIP
	case at.PodIP != nil:
		p.ip = at.PodIP()
	}
}

// image returns when the image of a container that begins is on the machine, which pulls it once.
func (k *Kubelet) image(c *container, p *pod, at time.Time) time.Time {
	there, known := k.images[c.spec.Image]
	if !known {
		there = at.Add(c.pull(p.seen, p.timing.Pull))
		k.images[c.spec.Image] = there
	}
	return later(at, there)
}
