package disrupt

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// settledFor is how long an unchanged fleet without a move is not searched again: Karpenter's
// interval. It ends because prices change and pods become old enough to move.
const settledFor = 5 * time.Minute

// settledFleet remembers a fleet in which consolidation found no move. It is a cache of the warm
// container that saves the search, and it is safe for concurrent use.
type settledFleet struct {
	mutex sync.Mutex
	fleet uint64
	until time.Time
}

// unchanged reports whether the fleet is the remembered one.
func (s *settledFleet) unchanged(o *snapshot.Objects, now time.Time) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return now.Before(s.until) && s.fleet == fingerprint(o)
}

func (s *settledFleet) remember(o *snapshot.Objects, now time.Time) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.fleet, s.until = fingerprint(o), now.Add(settledFor)
}

// fingerprint hashes what consolidation decides on, in any order: pods and their nodes, nodes
// without their heartbeats, and every object that people write. A tick of a large cluster does little else, so
// that it formats nothing.
func fingerprint(o *snapshot.Objects) uint64 {
	sum := uint64(0)
	for i := range o.Pods {
		pod := &o.Pods[i]
		one := digestOf("pod", string(pod.UID), pod.Spec.NodeName, string(pod.Status.Phase)).number(pod.Generation)
		if pod.DeletionTimestamp != nil {
			one = one.number(pod.DeletionTimestamp.UnixNano())
		}
		sum += one.mixed()
	}
	for i := range o.Nodes {
		sum += nodeDigest(&o.Nodes[i]).mixed()
	}
	for i := range o.NodeClaims {
		sum += digestOf("claim", string(o.NodeClaims[i].UID), o.NodeClaims[i].ResourceVersion).mixed()
	}
	for i := range o.NodePools {
		pool := &o.NodePools[i]
		sum += digestOf("pool", string(pool.UID)).number(pool.Generation).entries(pool.Annotations).mixed()
	}
	for i := range o.NodeClasses {
		sum += digestOf("class", string(o.NodeClasses[i].UID), o.NodeClasses[i].ResourceVersion).mixed()
	}
	for i := range o.DaemonSets {
		sum += digestOf("daemonset", string(o.DaemonSets[i].UID)).number(o.DaemonSets[i].Generation).mixed()
	}
	for i := range o.PodDisruptionBudgets {
		budget := &o.PodDisruptionBudgets[i]
		sum += digestOf("budget", string(budget.UID), budget.ResourceVersion).mixed()
	}
	for i := range o.CapacityQuotas {
		sum += digestOf("quota", string(o.CapacityQuotas[i].UID)).number(o.CapacityQuotas[i].Generation).mixed()
	}
	for i := range o.NodeOverlays {
		sum += digestOf("overlay", string(o.NodeOverlays[i].UID)).number(o.NodeOverlays[i].Generation).mixed()
	}
	return sum
}

func nodeDigest(node *corev1.Node) digest {
	one := digestOf("node", string(node.UID))
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		if api.IsCandidateTaint(*taint) {
			continue // plans ignore it
		}
		one = one.text(taint.Key).text(taint.Value).text(string(taint.Effect))
		if taint.TimeAdded != nil {
			one = one.number(taint.TimeAdded.UnixNano())
		}
	}
	return one.entries(node.Labels).entries(node.Annotations)
}

// digest is an FNV-1a hash of a sequence of texts and numbers.
type digest uint64

const (
	digestStart digest = 14695981039346656037
	digestPrime digest = 1099511628211
)

func digestOf(texts ...string) digest {
	d := digestStart
	for _, text := range texts {
		d = d.text(text)
	}
	return d
}

// text adds a text and its end.
func (d digest) text(text string) digest {
	for i := range len(text) {
		d = (d ^ digest(text[i])) * digestPrime
	}
	return (d ^ 0xff) * digestPrime // no byte of UTF-8
}

func (d digest) number(n int64) digest {
	for shift := 0; shift < 64; shift += 8 {
		d = (d ^ digest(byte(n>>shift))) * digestPrime
	}
	return d
}

// entries adds the entries of a map, whose order does not matter.
func (d digest) entries(of map[string]string) digest {
	sum := uint64(0)
	for key, value := range of {
		sum += digestStart.text(key).text(value).mixed()
	}
	return d.number(int64(sum))
}

// mixed is the hash as a part of a sum. FNV's hashes of similar sequences differ by the same few numbers, so
// that two changes could cancel each other out. The steps are those of MurmurHash3's end.
func (d digest) mixed() uint64 {
	h := uint64(d)
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
