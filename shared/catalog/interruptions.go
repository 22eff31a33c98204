package catalog

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

const (
	// interruptionHalfLife is the age at which an interruption and an hour of a node count half.
	// Spot capacity changes from day to day.
	interruptionHalfLife = 24 * time.Hour
	// interruptionMemory is the age at which nothing is left to remember.
	interruptionMemory = 14 * interruptionHalfLife
	// calmHours are node hours without an interruption that every spot pool is given, so that a
	// single interruption of a new node says little.
	calmHours = 24
	// rateStep is what rates are rounded to, so that prices do not change with each hour of a node.
	// rareInterruptions is the rate, per node hour, below which a spot pool counts as free of them.
	rateStep, rareInterruptions = 0.0001, 0.001
	// hoursEvery is how often the hours of nodes are added. longestGap is the longest time since
	// the last count for which they are, because nobody saw the nodes of a longer one.
	hoursEvery, longestGap = time.Hour, 2 * time.Hour
	// maximumPools and maximumCounted bound the memory, which is part of a ConfigMap.
	maximumPools, maximumCounted = 400, 1000
)

// Interruptions remembers how often EC2 took spot nodes back, by spot pool: an instance type in a
// zone. What is older counts less. The zero value is empty and ready, and a nil pointer is empty.
type Interruptions struct {
	// Time is when hours were last added. Zero means that nothing was seen yet.
	Time time.Time `json:"time,omitzero"`
	// Pools maps the keys of SpotPoolKey to what was seen there, as it counts at Time.
	Pools map[string]SpotPool `json:"pools,omitempty"`
	// Counted holds the UIDs of the NodeClaims whose interruption is in Pools, with the time of its
	// count. It is written together with Pools, so that no interruption counts twice.
	Counted map[string]time.Time `json:"counted,omitempty"`
}

// SpotPool is what was seen of a spot pool.
type SpotPool struct {
	// Interrupted is the number of nodes that EC2 took back, and Hours the hours of all nodes.
	Interrupted float64 `json:"interrupted,omitempty"`
	Hours       float64 `json:"hours,omitempty"`
}

// most is more than any spot pool has of nodes and hours.
const most = 1e9

// isSane reports whether the numbers can be a count.
func (p *SpotPool) isSane() bool {
	return p.Interrupted >= 0 && p.Interrupted <= most && p.Hours >= 0 && p.Hours <= most
}

// SpotNode is a spot node by the UID of its NodeClaim and the key of its spot pool.
type SpotNode struct{ UID, Pool string }

// SpotPoolKey returns the key of the spot pool of a node with these labels, such as
// "m5.large:us-east-1a". It is empty for a node that is not a spot node.
func SpotPoolKey(labels map[string]string) string {
	instanceType, zone := labels[corev1.LabelInstanceTypeStable], labels[corev1.LabelTopologyZone]
	if labels[api.CapacityTypeLabelKey] != api.CapacityTypeSpot || instanceType == "" || zone == "" {
		return ""
	}
	return spotPoolKey(instanceType, zone)
}

func spotPoolKey(instanceType, zone string) string { return instanceType + ":" + zone }

// SpotSeen is what was seen of the cluster's spot nodes at one time.
type SpotSeen struct {
	// Interrupted are the nodes that EC2 takes back. They may be counted already.
	Interrupted []SpotNode
	// Nodes are all spot nodes, or none where only some were seen. With them Interrupted is
	// complete.
	Nodes []SpotNode
}

// Lacks reports whether the memory lacks an interruption that was seen, or the hours since its last
// count.
func (r *Interruptions) Lacks(seen SpotSeen, now time.Time) bool {
	return slices.ContainsFunc(seen.Interrupted, r.counts) || r.lacksHours(seen, now)
}

// counts reports whether the node's interruption is to be counted. While the list of counted claims
// is full none is, because a later pass could not tell it from a new one.
func (r *Interruptions) counts(node SpotNode) bool {
	if r == nil {
		return node.Pool != ""
	}
	_, counted := r.Counted[node.UID]
	return node.Pool != "" && !counted && len(r.Counted) < maximumCounted
}

func (r *Interruptions) lacksHours(seen SpotSeen, now time.Time) bool {
	return len(seen.Nodes) > 0 && (r == nil || now.Sub(r.Time) >= hoursEvery || r.isAhead(now))
}

// isAhead reports whether the memory is of a time that cannot be. Clocks of functions differ by
// seconds.
func (r *Interruptions) isAhead(now time.Time) bool { return r.Time.Sub(now) > longestGap }

// With returns the memory with what was seen. It counts the interruption of each NodeClaim once,
// however often it is told. What it returns is a copy.
func (r *Interruptions) With(seen SpotSeen, now time.Time) *Interruptions {
	made, now := r.Clone(), now.UTC()
	if made.Pools == nil {
		made.Pools = map[string]SpotPool{}
	}
	if made.Counted == nil {
		made.Counted = map[string]time.Time{}
	}
	hours := made.lacksHours(seen, now)
	made.mend(now)
	if hours {
		made.addHours(seen.Nodes, now)
		made.forget(seen.Interrupted, now)
	}
	made.addInterrupted(seen.Interrupted, now)
	made.bound()
	return made
}

// mend drops what cannot be a count, and what is too old to count.
func (r *Interruptions) mend(now time.Time) {
	if now.Sub(r.Time) > interruptionMemory || r.isAhead(now) {
		r.Time = now
		clear(r.Pools)
	}
	maps.DeleteFunc(r.Pools, func(key string, pool SpotPool) bool { return key == "" || !pool.isSane() })
}

// addHours adds the hours of the nodes since the last time, and makes now the time at which
// everything counts.
func (r *Interruptions) addHours(nodes []SpotNode, now time.Time) {
	passed := max(now.Sub(r.Time), 0)
	kept := decay(passed)
	for key, pool := range r.Pools {
		r.Pools[key] = SpotPool{Interrupted: pool.Interrupted * kept, Hours: pool.Hours * kept}
	}
	for _, node := range nodes {
		if node.Pool != "" {
			pool := r.Pools[node.Pool]
			pool.Hours += min(passed, longestGap).Hours()
			r.Pools[node.Pool] = pool
		}
	}
	if now.After(r.Time) {
		r.Time = now
	}
}

// forget drops the claims that have gone. A claim whose node goes on to be interrupted stays,
// however old, because it would count again.
func (r *Interruptions) forget(interrupted []SpotNode, now time.Time) {
	there := map[string]bool{}
	for _, node := range interrupted {
		there[node.UID] = true
	}
	maps.DeleteFunc(r.Counted, func(uid string, at time.Time) bool {
		age := now.Sub(at)
		return !there[uid] && (age > interruptionHalfLife || age < -longestGap)
	})
}

// addInterrupted counts the interruptions that are not counted yet.
func (r *Interruptions) addInterrupted(nodes []SpotNode, now time.Time) {
	// Pools holds what counts at Time. What comes later has lost less since.
	one := 1 / decay(now.Sub(r.Time))
	for _, node := range nodes {
		if r.counts(node) {
			pool := r.Pools[node.Pool]
			pool.Interrupted += one
			r.Pools[node.Pool], r.Counted[node.UID] = pool, now
		}
	}
}

// decay is the part of its weight that something keeps after that time.
func decay(passed time.Duration) float64 {
	return math.Exp2(-max(passed, 0).Hours() / interruptionHalfLife.Hours())
}

// bound drops the spot pools that say least: those with few interruptions and hours.
func (r *Interruptions) bound() {
	const least = 0.01
	maps.DeleteFunc(r.Pools, func(_ string, pool SpotPool) bool { return pool.Interrupted < least && pool.Hours < least })
	if len(r.Pools) <= maximumPools {
		return
	}
	order := slices.SortedFunc(maps.Keys(r.Pools), func(a, b string) int {
		one, other := r.Pools[a], r.Pools[b]
		return cmp.Or(
			cmp.Compare(other.Interrupted, one.Interrupted), cmp.Compare(other.Hours, one.Hours), cmp.Compare(a, b),
		)
	})
	for _, key := range order[maximumPools:] {
		delete(r.Pools, key)
	}
}

// Rates returns how many interruptions a node has in an hour, by the keys of SpotPoolKey. Spot
// pools in which they are rare are not in it. The rates change when something is counted, and else
// by the hour, so that equal clusters give equal plans meanwhile.
func (r *Interruptions) Rates(now time.Time) map[string]float64 {
	if r == nil || now.Sub(r.Time) > interruptionMemory || r.isAhead(now) {
		return nil
	}
	kept := decay(max(now.Sub(r.Time), 0).Truncate(time.Hour))
	var rates map[string]float64
	for key, pool := range r.Pools {
		if !pool.isSane() {
			continue
		}
		rate := min(pool.Interrupted*kept/(float64(pool.Hours*kept)+calmHours), 1)
		if rate = math.Round(rate/rateStep) * rateStep; rate < rareInterruptions {
			continue
		}
		if rates == nil {
			rates = map[string]float64{}
		}
		rates[key] = rate
	}
	return rates
}

// Clone returns a deep copy.
func (r *Interruptions) Clone() *Interruptions {
	if r == nil {
		return &Interruptions{}
	}
	return &Interruptions{Time: r.Time, Pools: maps.Clone(r.Pools), Counted: maps.Clone(r.Counted)}
}
