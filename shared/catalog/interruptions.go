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
	// interruptionHalfLife is the age at which an interruption and an hour of a node count half. Spot
	// capacity changes from day to day.
	interruptionHalfLife = 24 * time.Hour
	// calmHours are node hours without an interruption that every spot pool is given, so that a single
	// interruption of a new node says little.
	calmHours = 24
	// rareInterruptions is the rate, per node hour, below which a spot pool counts as free of them.
	rareInterruptions = 0.001
	// longestGap is the longest time between two counts for which the nodes of the later one count.
	longestGap = 2 * time.Hour
	// interruptionPools and interruptionClaims bound the memory, which is part of a ConfigMap.
	interruptionPools, interruptionClaims = 400, 1000
)

// Interruptions remembers how often EC2 took spot nodes back, by spot pool: an instance type in a zone.
// What is older counts less. The zero value is empty and ready, and a nil pointer is empty.
type Interruptions struct {
	// Time is when hours were last added. Zero means that nothing was seen yet.
	Time time.Time `json:"time,omitzero"`
	// Pools maps the keys of SpotPoolKey to what was seen there, as it counts at Time.
	Pools map[string]SpotPool `json:"pools,omitempty"`
	// Counted holds the UIDs of the NodeClaims whose interruption is in Pools, with the time of its count.
	Counted map[string]time.Time `json:"counted,omitempty"`
}

// SpotPool is what was seen of a spot pool.
type SpotPool struct {
	// Interrupted is the number of nodes that EC2 took back, and Hours the hours of all nodes.
	Interrupted float64 `json:"interrupted,omitempty"`
	Hours       float64 `json:"hours,omitempty"`
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

// Knows reports whether the interruption of the NodeClaim is counted already.
func (r *Interruptions) Knows(uid string) bool {
	if r == nil {
		return false
	}
	_, counted := r.Counted[uid]
	return counted
}

// AddInterrupted counts the interruptions of the nodes. It counts each NodeClaim once, however often it is
// told, and reports whether there was a new one.
func (r *Interruptions) AddInterrupted(nodes []SpotNode, now time.Time) bool {
	added := false
	for _, node := range nodes {
		if node.Pool == "" || r.Knows(node.UID) {
			continue
		}
		if r.Pools == nil {
			r.Pools = map[string]SpotPool{}
		}
		if r.Counted == nil {
			r.Counted = map[string]time.Time{}
		}
		if r.Time.IsZero() {
			r.Time = now.UTC()
		}
		pool := r.Pools[node.Pool]
		// Pools holds what counted at Time. What comes later has lost less since.
		pool.Interrupted += 1 / decay(now.Sub(r.Time))
		r.Pools[node.Pool], r.Counted[node.UID] = pool, now.UTC()
		added = true
	}
	r.bound()
	return added
}

// AddHours counts the hours of all spot nodes of the cluster since the last call, and makes now the time at
// which everything counts.
func (r *Interruptions) AddHours(nodes []SpotNode, now time.Time) {
	now = now.UTC()
	passed := max(now.Sub(r.Time), 0)
	if r.Time.IsZero() {
		passed = 0
	}
	pools := make(map[string]SpotPool, len(r.Pools))
	for key, pool := range r.Pools {
		pools[key] = SpotPool{Interrupted: pool.Interrupted * decay(passed), Hours: pool.Hours * decay(passed)}
	}
	for _, node := range nodes {
		if node.Pool != "" {
			pool := pools[node.Pool]
			pool.Hours += min(passed, longestGap).Hours()
			pools[node.Pool] = pool
		}
	}
	maps.DeleteFunc(r.Counted, func(_ string, at time.Time) bool { return now.Sub(at) > interruptionHalfLife })
	r.Pools = pools
	if now.After(r.Time) {
		r.Time = now
	}
	r.bound()
}

// decay is the part of its weight that something keeps after that time.
func decay(passed time.Duration) float64 {
	return math.Exp2(-max(passed, 0).Hours() / interruptionHalfLife.Hours())
}

// bound drops what says least: spot pools with few interruptions and hours, and the oldest claims.
func (r *Interruptions) bound() {
	const least = 0.01
	maps.DeleteFunc(r.Pools, func(_ string, pool SpotPool) bool { return pool.Interrupted < least && pool.Hours < least })
	if len(r.Pools) > interruptionPools {
		order := slices.SortedFunc(maps.Keys(r.Pools), func(a, b string) int {
			one, other := r.Pools[a], r.Pools[b]
			return cmp.Or(
				cmp.Compare(other.Interrupted, one.Interrupted), cmp.Compare(other.Hours, one.Hours), cmp.Compare(a, b),
			)
		})
		for _, key := range order[interruptionPools:] {
			delete(r.Pools, key)
		}
	}
	if len(r.Counted) > interruptionClaims {
		order := slices.SortedFunc(maps.Keys(r.Counted), func(a, b string) int {
			return cmp.Or(r.Counted[b].Compare(r.Counted[a]), cmp.Compare(a, b))
		})
		for _, uid := range order[interruptionClaims:] {
			delete(r.Counted, uid)
		}
	}
}

// Rates returns how many interruptions a node has in an hour, by the keys of SpotPoolKey. Spot pools in
// which they are rare are not in it. The rates change when something is counted, and else by the hour, so
// that equal clusters give equal plans meanwhile.
func (r *Interruptions) Rates(now time.Time) map[string]float64 {
	if r == nil {
		return nil
	}
	kept := decay(max(now.Sub(r.Time), 0).Truncate(time.Hour))
	var rates map[string]float64
	for key, pool := range r.Pools {
		rate := min(pool.Interrupted*kept/(pool.Hours*kept+calmHours), 1)
		if rate < rareInterruptions {
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
