package packing

import (
	"math"
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/resource"
)

// queue is a number of demands with units to place, sorted such that filling a node finds what to
// put on it next without going through all of them: in bands of demands that the same offerings
// hold, that the same things keep from a node, and that ask for about the same ratio of cpu and
// memory; each from the greatest to the least.
type queue struct {
	bands []band
	// seeds are all demands, the hardest to place first; at is the first that may wait.
	seeds []int32
	at    int
	// active is memory for fill, the others for making the queue: ends has, by group, how many members
	// it has, then where the next of them goes.
	active                []int32
	items                 []bandItem
	sorted, members, part []dense.Ranked
	next                  []dense.Ranked
	shares                []float64
	ends, order           []int32
}

// band is one of a queue's.
type band struct {
	class *offering.Feasibility
	items []bandItem
	// head is the first item that may wait, at where fill looks.
	head, at int
	// scored is the item that the next four are of, one more than its number: what its cpu and memory
	// count for on the node in question, how much of what it weighs on the offering it is worth, and
	// what it weighs more than that.
	scored            int32
	cpu, memory       float64
	fit, slot, excess float64
	// least is the least need of any item, by axis.
	least resource.Vector
	// further says that some item asks for more than cpu, memory and pods, constrained that something
	// else than room may keep one from a node.
	further, constrained bool
	// lowest and highest are the bounds of the memory's share of the items' worth in cpu and memory.
	lowest, highest float64
	// dearest is the most that any item is worth for what its cpu and memory are.
	dearest float64
}

// bandItem is a demand as filling looks for the next one that fits: all it takes lies together.
type bandItem struct {
	demand int32
	// several says that there may be more than one unit of it.
	several           bool
	cpu, memory, pods int64
	// worth is what a unit is worth, slots aside.
	worth float64
}

// bandsEach is how many ratios a group of demands is divided into at most, laneItems how many
// demands are worth a band of their own.
const (
	bandsEach = 6
	bandItems = 14
	// bandSamples is how many demands of a group are looked at to divide it.
	bandSamples = 60
)

// newQueue sorts the demands that wait.
func (k *packer) newQueue(demands []int32) *queue {
	pl := &queue{}
	k.fillQueue(pl, demands)
	return pl
}

// fillQueue makes a queue of the demands that wait, in the memory that it has.
func (k *packer) fillQueue(pl *queue, demands []int32) {
	pl.at, pl.bands, pl.seeds, pl.order = 0, pl.bands[:0], pl.seeds[:0], pl.order[:0]
	pl.items, pl.sorted = slices.Grow(pl.items[:0], len(demands)), slices.Grow(pl.sorted[:0], len(demands))
	for _, i := range demands {
		pl.sorted = append(pl.sorted, dense.Ranked{By: -k.value[i], Item: i})
	}
	pl.next = dense.SortRanked(pl.sorted, pl.next)
	if len(pl.ends) < k.groups {
		pl.ends = make([]int32, k.groups)
	}
	// Groups come in the order of their first demands.
	for _, s := range pl.sorted {
		pl.seeds = append(pl.seeds, s.Item)
		group := k.group[s.Item]
		if pl.ends[group] == 0 {
			pl.order = append(pl.order, group)
		}
		pl.ends[group]++
	}
	end := int32(0)
	for _, group := range pl.order {
		count := pl.ends[group]
		pl.ends[group] = end
		end += count
	}
	pl.members = slices.Grow(pl.members[:0], len(demands))[:len(demands)]
	slotted := false
	for _, s := range pl.sorted {
		at := &pl.ends[k.group[s.Item]]
		pl.members[*at] = dense.Ranked{By: float64(k.slot[s.Item] + s.By), Item: s.Item}
		slotted = slotted || k.slot[s.Item] != 0
		*at++
	}
	from := int32(0)
	for _, group := range pl.order {
		members := pl.members[from:pl.ends[group]]
		from, pl.ends[group] = pl.ends[group], 0
		if slotted {
			pl.next = dense.SortRanked(members, pl.next)
		}
		k.addBands(pl, members)
	}
}

// addBands divides the demands of a group, sorted by what they are worth, into bands of about as
// many each.
func (k *packer) addBands(pl *queue, members []dense.Ranked) {
	lanes := min(max(len(members)/bandItems, 1), bandsEach)
	if lanes == 1 {
		k.addBand(pl, members)
		return
	}
	// Some of the members tell where the ratios divide.
	every := max(len(members)/bandSamples, 1)
	pl.shares = pl.shares[:0]
	for at := every / 2; at < len(members); at += every {
		pl.shares = append(pl.shares, k.share[members[at].Item])
	}
	slices.Sort(pl.shares)
	for n := range lanes {
		low, high := math.Inf(-1), math.Inf(1)
		if n > 0 {
			low = pl.shares[n*len(pl.shares)/lanes]
		}
		if n < lanes-1 {
			high = pl.shares[(n+1)*len(pl.shares)/lanes]
		}
		pl.part = pl.part[:0]
		for _, s := range members {
			if share := k.share[s.Item]; low <= share && share < high {
				pl.part = append(pl.part, s)
			}
		}
		if len(pl.part) > 0 {
			k.addBand(pl, pl.part)
		}
	}
}

// addBand adds a band of demands of one group, sorted by what they are worth.
func (k *packer) addBand(pl *queue, sorted []dense.Ranked) {
	p := k.p
	if len(pl.bands) < cap(pl.bands) {
		pl.bands = pl.bands[:len(pl.bands)+1]
	} else {
		pl.bands = append(pl.bands, band{})
	}
	l := &pl.bands[len(pl.bands)-1]
	first := p.Demands[sorted[0].Item]
	*l = band{
		class:       first.Feasibility,
		lowest:      1,
		least:       append(l.least[:0], first.Need...),
		constrained: first.Feasibility.Resolves != nil,
	}
	from := len(pl.items)
	for _, s := range sorted {
		i := s.Item
		d := p.Demands[i]
		l.constrained = l.constrained || d.Conflicts != nil || d.HostRules != nil
		l.lowest, l.highest = min(l.lowest, k.share[i]), max(l.highest, k.share[i])
		if l.dearest = max(l.dearest, -s.By/k.size[i]); k.size[i] == 0 {
			l.dearest = math.Inf(1)
		}
		for r, amount := range d.Need {
			l.least[r] = min(l.least[r], amount)
			l.further = l.further || r >= resource.FixedAxes && amount > 0
		}
		pl.items = append(pl.items, bandItem{
			demand: i, several: k.left[i] > 1, cpu: d.Need[resource.CPU], memory: d.Need[resource.Memory],
			pods: d.Need[resource.Pods], worth: -s.By,
		})
	}
	l.items = pl.items[from:len(pl.items):len(pl.items)]
}

// seed is the hardest demand to place that waits; -1 if none does.
func (k *packer) seed(pl *queue) int {
	for ; pl.at < len(pl.seeds); pl.at++ {
		if i := pl.seeds[pl.at]; k.left[i] > 0 {
			return int(i)
		}
	}
	return -1
}

// fits reports whether a unit of the band's item fits into what is free.
func (k *packer) fits(l *band, item *bandItem, free resource.Vector) bool {
	// What is free is never below zero of what an item asks for, but may be of the rest.
	return item.cpu <= max(free[resource.CPU], 0) && item.memory <= max(free[resource.Memory], 0) &&
		item.pods <= max(free[resource.Pods], 0) &&
		(!l.further || free.Fits(k.p.Demands[item.demand].Need))
}

// advance moves the band to its next item that waits and fits into what is free, and reports
// whether there is one. What did not fit before does not fit later, since a node only gets fuller.
func (k *packer) advance(l *band, free resource.Vector) bool {
	if !free.Fits(l.least) {
		return false
	}
	// An item of the band is worth at most so much in cpu and memory, or one of the two is more than
	// what is free.
	most := math.Inf(1)
	if l.highest < 1 {
		most = float64(max(free[resource.CPU], 0)) * k.weights[resource.CPU] / (1 - l.highest)
	}
	if l.lowest > 0 {
		most = min(most, float64(max(free[resource.Memory], 0))*k.weights[resource.Memory]/l.lowest)
	}
	most *= l.dearest * (1 + 1e-9)
	items := l.items
	if l.at < len(items) && items[l.at].worth > most {
		low, high := l.at, len(items)
		for low < high {
			if mid := (low + high) / 2; items[mid].worth > most {
				low = mid + 1
			} else {
				high = mid
			}
		}
		l.at = low
	}
	cpu, memory, pods := max(free[resource.CPU], 0), max(free[resource.Memory], 0), max(free[resource.Pods], 0)
	for at := l.at; at < len(items); at++ {
		k.work++
		item := &items[at]
		if item.cpu <= cpu && item.memory <= memory && item.pods <= pods && k.left[item.demand] > 0 &&
			(!l.further || free.Fits(k.p.Demands[item.demand].Need)) {
			l.at = at
			return true
		}
	}
	l.at = len(items)
	return false
}

// prune drops the items at the bands' heads that wait no more.
func (k *packer) prune(pl *queue) {
	for i := range pl.bands {
		l := &pl.bands[i]
		for l.head < len(l.items) && k.left[l.items[l.head].demand] == 0 {
			l.head++
		}
	}
}

// sweep drops all items that wait no more.
func (k *packer) sweep(pl *queue) {
	lanes := 0
	for at := range pl.bands {
		l := &pl.bands[at]
		items := l.items[:0]
		for _, item := range l.items {
			if k.left[item.demand] > 0 {
				items = append(items, item)
			}
		}
		l.items, l.head = items, 0
		if len(items) > 0 {
			// Lanes change places, since each has memory that the queue uses again.
			pl.bands[lanes], pl.bands[at] = pl.bands[at], pl.bands[lanes]
			lanes++
		}
	}
	pl.bands = pl.bands[:lanes]
}
