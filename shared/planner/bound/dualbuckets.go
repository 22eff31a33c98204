package bound

import (
	"math"
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/resource"
)

// bucketSamples is how many units of a bucket stand for its sizes. Fewer make the program less
// precise, not wrong.
const bucketSamples = 5

// Bucket are units of about the same need, with the same offerings and slots.
type Bucket struct {
	offerings *dense.Set
	// units are the positions of the bucket's units.
	units []int
	// Need is the scaled need of one unit, on average.
	Need  []float64
	count float64
	// samples are the scaled needs of some units, from small to large.
	samples [][]float64
}

// kindKey identifies the units that have the same offerings and slots.
type kindKey struct {
	offerings *dense.Set
	slots     int
}

// readKinds groups the units that have the same offerings and slots.
func (d *Dual) readKinds() {
	kinds, slotLists := map[kindKey]int{}, map[string]int{}
	sets := setNumbers{byContent: map[string]*dense.Set{}, known: map[*dense.Set]*dense.Set{}}
	var key []byte
	for i := range d.units {
		u := &d.units[i]
		if u.Count == 0 || len(*u.Offerings) == 0 {
			continue
		}
		of := kindKey{offerings: sets.first(u.Offerings)}
		if of.offerings == nil {
			continue
		}
		if len(u.Slots) > 0 {
			key = d.slotKey(key[:0], u.Slots)
			number, ok := slotLists[string(key)]
			if !ok {
				number = len(slotLists) + 1
				slotLists[string(key)] = number
			}
			of.slots = number
		}
		at, ok := kinds[of]
		if !ok {
			at = len(d.kinds)
			kinds[of] = at
			d.kinds = append(d.kinds, nil)
		}
		d.kinds[at] = append(d.kinds[at], i)
	}
}

// setNumbers finds the first of several equal sets.
type setNumbers struct {
	byContent map[string]*dense.Set
	known     map[*dense.Set]*dense.Set
	key       []byte
}

// first is the first set that had the same content; nil if it is empty.
func (s *setNumbers) first(set *dense.Set) *dense.Set {
	if first, ok := s.known[set]; ok {
		return first
	}
	s.key = set.AppendKey(s.key[:0])
	first, ok := s.byContent[string(s.key)]
	if !ok {
		if !set.Empty() {
			first = set
		}
		s.byContent[string(s.key)] = first
	}
	s.known[set] = first
	return first
}

// readBuckets divides the kinds into about so many buckets, in proportion to their numbers of
// units.
func (d *Dual) readBuckets(buckets int) {
	d.Buckets, d.Offerings, d.BucketOf = nil, nil, make([]int, len(d.units))
	for i := range d.BucketOf {
		d.BucketOf[i] = -1
	}
	counts, total := make([]int, len(d.kinds)), 0
	for n, kind := range d.kinds {
		for _, i := range kind {
			counts[n] += d.units[i].Count
		}
		total += counts[n]
	}
	for n, kind := range d.kinds {
		d.split(kind, max(buckets*counts[n]/max(total, 1), 1))
	}
}

// split divides the units of a kind into at most so many buckets: by memory's share, then by size.
func (d *Dual) split(kind []int, most int) {
	shares := max(int(math.Sqrt(float64(most)*2)), 1)
	sizes := max(most/shares, 1)
	for _, part := range d.sortedParts(kind, d.memoryShare, shares) {
		for _, units := range d.sortedParts(part, d.size, sizes) {
			d.addBucket(units)
		}
	}
}

// memoryShare is the part of a unit's cpu and memory that is memory.
func (d *Dual) memoryShare(n int) float64 {
	need := d.NeedOf(n)
	cpu, memory := 0.0, 0.0
	for a, r := range d.Axes {
		switch r {
		case resource.CPU:
			cpu = need[a]
		case resource.Memory:
			memory = need[a]
		}
	}
	return memory / (cpu + memory + 1e-12)
}

// size is the sum of a unit's scaled need.
func (d *Dual) size(n int) float64 {
	sum := 0.0
	for _, amount := range d.NeedOf(n) {
		sum += amount
	}
	return sum
}

// addBucket makes a bucket of the units, which come from small to large.
func (d *Dual) addBucket(units []int) {
	b := &Bucket{offerings: d.units[units[0]].Offerings, units: units, Need: make([]float64, d.Width())}
	for _, i := range units {
		d.BucketOf[i] = len(d.Buckets)
		b.count += float64(d.units[i].Count)
		for a, amount := range d.NeedOf(i) {
			b.Need[a] += float64(float64(d.units[i].Count) * amount)
		}
	}
	// Rounded, the average of equal needs may be greater than each of them. It would then fit no
	// node that a unit fills.
	largest := slices.Clone(d.NeedOf(units[0]))
	for _, i := range units[1:] {
		for a, amount := range d.NeedOf(i) {
			largest[a] = max(largest[a], amount)
		}
	}
	for a := range b.Need {
		b.Need[a] = min(b.Need[a]/b.count, largest[a])
	}
	samples := min(len(units), bucketSamples)
	for n := range samples {
		b.samples = append(b.samples, d.NeedOf(units[(2*n+1)*len(units)/(2*samples)]))
	}
	d.Buckets = append(d.Buckets, b)
}

// sortedParts sorts positions by a measure, and divides them into parts of about the same length.
func (d *Dual) sortedParts(positions []int, by func(int) float64, parts int) [][]int {
	parts = min(len(positions), parts)
	ranked := make([]dense.Ranked, len(positions))
	for n, i := range positions {
		ranked[n] = dense.Ranked{By: by(i), Item: int32(i)}
	}
	d.ranked = dense.SortRanked(ranked, d.ranked)
	sorted := make([]int, len(ranked))
	for n := range ranked {
		sorted[n] = int(ranked[n].Item)
	}
	result := make([][]int, parts)
	for n := range parts {
		result[n] = sorted[n*len(sorted)/parts : (n+1)*len(sorted)/parts]
	}
	return result
}
