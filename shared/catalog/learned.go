package catalog

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

const (
	// LearnedFor is the time for which a capacity is remembered after its last observation:
	// Karpenter's 60 days.
	LearnedFor = 60 * 24 * time.Hour
	// refreshAfter is the age at which observing the same capacity again is worth a write.
	refreshAfter = 24 * time.Hour
	// maximumLearned limits the number of remembered capacities. Each takes about 70 bytes of JSON,
	// and a ConfigMap holds 1 MiB.
	maximumLearned = 5000
)

// Learned holds observed memory capacities of nodes, by instance type and image. The overhead of
// hypervisor and kernel depends on these two only. Of several nodes the smallest capacity counts.
// The zero value is empty and ready.
type Learned struct {
	// Capacities are keyed by LearnedKey.
	Capacities map[string]LearnedCapacity `json:"capacities,omitempty"`
}

// LearnedCapacity is the observed capacity of one type and image.
type LearnedCapacity struct {
	// Memory is the smallest observed memory in bytes.
	Memory int64 `json:"memory"`
	// Seen is the time of the last observation, to the day.
	Seen time.Time `json:"seen"`
}

// LearnedKey returns the key of a type and image, such as "m5.large/ami-0123456789abcdef0".
func LearnedKey(instanceType, image string) string { return instanceType + "/" + image }

// Observe records the memory of a node in bytes, and reports whether it changed anything. It
// ignores an observation without a type, an image or memory.
func (l *Learned) Observe(instanceType, image string, memory int64, now time.Time) bool {
	if instanceType == "" || image == "" || memory <= 0 {
		return false
	}
	return l.add(LearnedKey(instanceType, image), LearnedCapacity{Memory: memory, Seen: now.UTC().Truncate(time.Second)})
}

// Tells reports whether merging the other would change anything.
func (l *Learned) Tells(other *Learned) bool {
	for key, capacity := range other.Capacities {
		if known, ok := l.Capacities[key]; !ok || tells(known, capacity) {
			return true
		}
	}
	return false
}

// tells reports whether a capacity adds to the known one: it has less memory, or was observed at
// least a day later.
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

// Merge adds the observations of another, and reports whether it changed anything. The order of
// merges does not affect the memory.
func (l *Learned) Merge(other *Learned) bool {
	changed := false
	if other != nil {
		for key, capacity := range other.Capacities {
			changed = l.add(key, capacity) || changed
		}
	}
	return changed
}

// Prune drops capacities without an observation for LearnedFor, and the oldest ones beyond the
// maximum number.
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

// Memory returns the smallest memory in bytes observed for the type and image, or false where there
// is none at the given time.
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

// learned returns the observed memory of the type with the image, in bytes. It ignores implausible
// values: more than EC2 advertises, or less than half of it.
func (m *model) learned(info *InstanceTypeInfo, image string) (int64, bool) {
	memory, ok := m.observed.Learned.Memory(info.InstanceType, image, m.now)
	if sold := info.SizeInMiB * mebibyte; !ok || memory > sold || memory < sold/2 {
		return 0, false
	}
	return memory, true
}
