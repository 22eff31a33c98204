package plan

import (
	"cmp"
	"math"
	"slices"
)

// pile is a number of demands with units to place, sorted such that filling a node finds what to put on it next without going through all of them: in lanes of
// demands that the same columns hold, that the same things keep from a node, and that ask for about the same ratio of cpu and memory; each from the greatest to
// the least.
type pile struct {
	lanes []lane
	// leaders are all demands, the hardest to place first; at is the first that may wait.
	leaders []int32
	at      int
	// active is memory for fill.
	active []int32
}

// lane is one of a pile's.
type lane struct {
	class *class
	items []int32
	// head is the first item that may wait, at where fill looks.
	head, at int
	// scored is the item that fit is of, one more than its number: how much of what it weighs on the column in question it is worth.
	scored int32
	fit    float64
	// least is the least need of any item, by axis.
	least vector
	// lowest and highest are the bounds of the memory's share of the items' worth in cpu and memory.
	lowest, highest float64
}

// lanesEach is how many ratios a group of demands is divided into at most, laneItems how many demands are worth a lane of their own.
const (
	lanesEach = 6
	laneItems = 14
)

// newPile sorts the demands that wait.
func (k *packer) newPile(demands []int32) *pile {
	type group struct {
		class     *class
		repulsion int
	}
	p := k.p
	pl := &pile{leaders: slices.Clone(demands)}
	slices.SortFunc(pl.leaders, func(a, b int32) int {
		return cmp.Or(-cmp.Compare(k.value[a], k.value[b]), cmp.Compare(a, b))
	})
	groups := map[group]int{}
	var members [][]int32
	for _, i := range pl.leaders {
		g := group{p.demands[i].class, p.demands[i].repulsion}
		at, ok := groups[g]
		if !ok {
			at = len(members)
			groups[g] = at
			members = append(members, nil)
		}
		members[at] = append(members[at], i)
	}
	var byShare []int32
	for _, items := range members {
		count := min(max(len(items)/laneItems, 1), lanesEach)
		if count == 1 {
			k.addLane(pl, items)
			continue
		}
		byShare = append(byShare[:0], items...)
		slices.SortFunc(byShare, func(a, b int32) int { return cmp.Or(cmp.Compare(k.share[a], k.share[b]), cmp.Compare(a, b)) })
		for n := range count {
			part := slices.Clone(byShare[n*len(byShare)/count : (n+1)*len(byShare)/count])
			slices.SortFunc(part, func(a, b int32) int { return cmp.Or(-cmp.Compare(k.size[a], k.size[b]), cmp.Compare(a, b)) })
			k.addLane(pl, part)
		}
	}
	return pl
}

func (k *packer) addLane(pl *pile, items []int32) {
	l := lane{class: k.p.demands[items[0]].class, items: items, lowest: 1, least: slices.Clone(k.p.demands[items[0]].need)}
	for _, i := range items {
		l.lowest, l.highest = min(l.lowest, k.share[i]), max(l.highest, k.share[i])
		for r, amount := range k.p.demands[i].need {
			l.least[r] = min(l.least[r], amount)
		}
	}
	pl.lanes = append(pl.lanes, l)
}

// leader is the hardest demand to place that waits; -1 if none does.
func (k *packer) leader(pl *pile) int {
	for ; pl.at < len(pl.leaders); pl.at++ {
		if i := pl.leaders[pl.at]; k.left[i] > 0 {
			return int(i)
		}
	}
	return -1
}

// advance moves the lane to its next item that waits and fits into what is free, and reports whether there is one. What did not fit before does not fit later, since
// a node only gets fuller.
func (k *packer) advance(l *lane, free vector) bool {
	if !free.fits(l.least) {
		return false
	}
	// An item of the lane is worth at most so much in cpu and memory, or one of the two is more than what is free.
	most := math.Inf(1)
	if l.highest < 1 {
		most = float64(max(free[axisCPU], 0)) * k.weights[axisCPU] / (1 - l.highest)
	}
	if l.lowest > 0 {
		most = min(most, float64(max(free[axisMemory], 0))*k.weights[axisMemory]/l.lowest)
	}
	most += most * 1e-9
	if l.at < len(l.items) && k.size[l.items[l.at]] > most {
		low, high := l.at, len(l.items)
		for low < high {
			if mid := (low + high) / 2; k.size[l.items[mid]] > most {
				low = mid + 1
			} else {
				high = mid
			}
		}
		l.at = low
	}
	for ; l.at < len(l.items); l.at++ {
		k.work++
		if i := l.items[l.at]; k.left[i] > 0 && free.fits(k.p.demands[i].need) {
			return true
		}
	}
	return false
}

// prune drops the items at the lanes' heads that wait no more, and sweeps a lane once most of it is gone.
func (k *packer) prune(pl *pile) {
	for i := range pl.lanes {
		l := &pl.lanes[i]
		for l.head < len(l.items) && k.left[l.items[l.head]] == 0 {
			l.head++
		}
	}
}

// sweep drops all items that wait no more.
func (k *packer) sweep(pl *pile) {
	lanes := pl.lanes[:0]
	for _, l := range pl.lanes {
		items := l.items[:0]
		for _, i := range l.items {
			if k.left[i] > 0 {
				items = append(items, i)
			}
		}
		if l.items, l.head = items, 0; len(items) > 0 {
			lanes = append(lanes, l)
		}
	}
	pl.lanes = lanes
}
