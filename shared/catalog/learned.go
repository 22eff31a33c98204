package catalog

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

const (
	// LearnedFor is how long a capacity is remembered after a node last had it: Karpenter's 60 days.
	LearnedFor = 60 * 24 * time.Hour
	// refreshAfter is how old a capacity gets before seeing it again is worth a write.
	refreshAfter = 24 * time.Hour
	// maximumLearned bounds how many capacities are remembered: each is some 70 bytes of JSON, and a ConfigMap holds 1 MiB.
	maximumLearned = 5000
)

// Learned are the memory capacities that nodes have been seen to have, by instance type and image: what the hypervisor and the kernel keep depends on
// both, and on nothing else that a class says. Of several nodes the least counts. The zero value is empty and ready.
type Learned struct {
	// Capacities are by LearnedKey.
	Capacities map[string]LearnedCapacity `json:"capacities,omitempty"`
}

// LearnedCapacity is what nodes of one type and image have.
type LearnedCapacity struct {
	// Memory is the least that one has had, in bytes.
	Memory int64 `json:"memory"`
	// Seen is when a node was last seen, to the day.
	Seen time.Time `json:"seen"`
}

// LearnedKey names a type and an image: "m5.large/ami-0123456789abcdef0".
func LearnedKey(instanceType, image string) string { return instanceType + "/" + image }

// Observe notes the memory in bytes of a node, and reports whether that tells anything new. What names no type, image or memory tells nothing.
func (l *Learned) Observe(instanceType, image string, memory int64, now time.Time) bool {
	if instanceType == "" || image == "" || memory <= 0 {
		return false
	}
	return l.add(LearnedKey(instanceType, image), LearnedCapacity{Memory: memory, Seen: now.UTC().Truncate(time.Second)})
}

// Tells reports whether merging the other would tell anything new.
func (l *Learned) Tells(other *Learned) bool {
	for key, capacity := range other.Capacities {
		if known, ok := l.Capacities[key]; !ok || tells(known, capacity) {
			return true
		}
	}
	return false
}

// tells reports whether a capacity says more than the one that is known: less memory, or the same a day later.
func tells(known, capacity LearnedCapacity) bool {
	return capacity.Memory < known.Memory || !capacity.Seen.Before(known.Seen.Add(refreshAfter))
}

func (l *Learned) add(key string, capacity LearnedCapacity) bool {
	if l.Capacities == nil {
		l.Capacities = map[string]LearnedCapacity{}
	}
	known, ok := l.Capacities[key]
	if ok && !tells(known, capacity) {
		return false
	}
	if ok {
		capacity.Memory = min(capacity.Memory, known.Memory)
		if known.Seen.After(capacity.Seen) {
			capacity.Seen = known.Seen
		}
	}
	l.Capacities[key] = capacity
	return true
}

// Merge takes over what another has, and reports whether it was anything new. The order of merging does not matter to the memory.
func (l *Learned) Merge(other *Learned) bool {
	changed := false
	if other != nil {
		for key, capacity := range other.Capacities {
			changed = l.add(key, capacity) || changed
		}
	}
	return changed
}

// Prune forgets what no node has had for LearnedFor, and, if there is still more than is kept, what was seen longest ago.
func (l *Learned) Prune(now time.Time) {
	maps.DeleteFunc(l.Capacities, func(_ string, c LearnedCapacity) bool { return now.Sub(c.Seen) >= LearnedFor })
	if len(l.Capacities) <= maximumLearned {
		return
	}
	keys := slices.SortedFunc(maps.Keys(l.Capacities), func(a, b string) int {
		return cmp.Or(l.Capacities[a].Seen.Compare(l.Capacities[b].Seen), cmp.Compare(a, b))
	})
	for _, key := range keys[:len(keys)-maximumLearned] {
		delete(l.Capacities, key)
	}
}

// Memory is the least memory in bytes that nodes of the type and image have had at the time now; false if none has been seen.
func (l *Learned) Memory(instanceType, image string, now time.Time) (int64, bool) {
	if l == nil {
		return 0, false
	}
	known, ok := l.Capacities[LearnedKey(instanceType, image)]
	if !ok || now.Sub(known.Seen) >= LearnedFor {
		return 0, false
	}
	return known.Memory, true
}

// learned is the memory that nodes of the type have had with the image. One that had more than the type is sold with, or less than half of it, was no
// ordinary node of the type, and does not count for the others.
func (m *model) learned(info *InstanceTypeInfo, image string) (int64, bool) {
	memory, ok := m.observed.Learned.Memory(info.InstanceType, image, m.now)
	if sold := info.SizeInMiB * mebibyte; !ok || memory > sold || memory < sold/2 {
		return 0, false
	}
	return memory, true
}
