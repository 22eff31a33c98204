package packing

import (
	"math"
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/resource"
)

// queue has demands with waiting units. Its bands let fill find the next unit for a node without a
// look at each demand.
type queue struct {
	bands []band
	// seeds are all demands by falling price of a unit; at is the first that may wait.
	seeds []int32
	at    int
	// items is the memory of the bands' items, active that of fill.
	items  []bandItem
	active []int32
	building
}

// building is memory for filling a queue.
type building struct {
	sorted, members, part, next []dense.Ranked
	memoryShares                []float64
	// ends has the size of each group, then the position of its next member.
	ends []int32
	// groups are in the order of their first members.
	groups []int32
}

// newQueue makes a queue of the demands.
func (p *packer) newQueue(demands []int32) *queue {
	q := &queue{}
	p.fillQueue(q, demands)
	return q
}

// fillQueue makes the queue one of the demands. It uses the queue's memory again.
func (p *packer) fillQueue(q *queue, demands []int32) {
	q.at, q.bands, q.seeds, q.groups = 0, q.bands[:0], q.seeds[:0], q.groups[:0]
	q.items, q.sorted = slices.Grow(q.items[:0], len(demands)), slices.Grow(q.sorted[:0], len(demands))
	for _, i := range demands {
		q.sorted = append(q.sorted, dense.Ranked{By: -p.prices.unit[i], Item: i})
	}
	q.next = dense.SortRanked(q.sorted, q.next)
	for _, s := range q.sorted {
		q.seeds = append(q.seeds, s.Item)
	}
	slotted := p.sortByGroup(q)
	from := int32(0)
	for _, group := range q.groups {
		members := q.members[from:q.ends[group]]
		from, q.ends[group] = q.ends[group], 0
		if slotted {
			q.next = dense.SortRanked(members, q.next)
		}
		p.addBands(q, members)
	}
}

// sortByGroup fills in the queue's members: its sorted demands, group by group, ranked by their
// price without slots. It reports whether any slot has a price.
func (p *packer) sortByGroup(q *queue) bool {
	if len(q.ends) < p.groups.count {
		q.ends = make([]int32, p.groups.count)
	}
	for _, s := range q.sorted {
		group := p.groups.of[s.Item]
		if q.ends[group] == 0 {
			q.groups = append(q.groups, group)
		}
		q.ends[group]++
	}
	end := int32(0)
	for _, group := range q.groups {
		count := q.ends[group]
		q.ends[group] = end
		end += count
	}
	q.members = slices.Grow(q.members[:0], len(q.sorted))[:len(q.sorted)]
	slotted := false
	for _, s := range q.sorted {
		at := &q.ends[p.groups.of[s.Item]]
		slot := p.prices.slot[s.Item]
		q.members[*at] = dense.Ranked{By: float64(slot + s.By), Item: s.Item}
		slotted = slotted || slot != 0
		*at++
	}
	return slotted
}

// seed returns the waiting demand with the highest price; -1 without one.
func (p *packer) seed(q *queue) int {
	for ; q.at < len(q.seeds); q.at++ {
		if i := q.seeds[q.at]; p.left[i] > 0 {
			return int(i)
		}
	}
	return -1
}

// prune moves each band's head to the first item that waits.
func (p *packer) prune(q *queue) {
	for i := range q.bands {
		b := &q.bands[i]
		for b.head < len(b.items) && p.left[b.items[b.head].demand] == 0 {
			b.head++
		}
	}
}

// sweep removes all items that do not wait any more.
func (p *packer) sweep(q *queue) {
	kept := 0
	for at := range q.bands {
		b := &q.bands[at]
		items := b.items[:0]
		for _, item := range b.items {
			if p.left[item.demand] > 0 {
				items = append(items, item)
			}
		}
		b.items, b.head = items, 0
		if len(items) > 0 {
			// A swap keeps the memory of both bands for the queue's next use.
			q.bands[kept], q.bands[at] = q.bands[at], q.bands[kept]
			kept++
		}
	}
	q.bands = q.bands[:kept]
}

// fits reports whether a unit of the band's item fits into what is free.
func (p *packer) fits(b *band, item *bandItem, free resource.Vector) bool {
	// An axis may be overdrawn on which the item needs nothing.
	return item.cpu <= max(free[resource.CPU], 0) && item.memory <= max(free[resource.Memory], 0) &&
		item.pods <= max(free[resource.Pods], 0) &&
		(!b.otherAxes || free.Fits(p.state.Demands[item.demand].Need))
}

// advance moves the band to its next item that waits and fits, and reports whether there is one. A
// node only gets fuller, so an item that did not fit before does not fit later.
func (p *packer) advance(b *band, free resource.Vector) bool {
	if b.at >= len(b.items) || !free.Fits(b.least) {
		return false
	}
	b.skipAbove(p.mostPrice(b, free))
	items := b.items
	cpu, memory, pods := max(free[resource.CPU], 0), max(free[resource.Memory], 0), max(free[resource.Pods], 0)
	for at := b.at; at < len(items); at++ {
		p.effort.work++
		item := &items[at]
		if item.cpu <= cpu && item.memory <= memory && item.pods <= pods && p.left[item.demand] > 0 &&
			(!b.otherAxes || free.Fits(p.state.Demands[item.demand].Need)) {
			b.at = at
			return true
		}
	}
	b.at = len(items)
	return false
}

// mostPrice is a price that no item of the band exceeds if its cpu and memory fit.
func (p *packer) mostPrice(b *band, free resource.Vector) float64 {
	most := math.Inf(1)
	if b.mostMemory < 1 {
		most = float64(max(free[resource.CPU], 0)) * p.prices.axis[resource.CPU] / (1 - b.mostMemory)
	}
	if b.leastMemory > 0 {
		most = min(most, float64(max(free[resource.Memory], 0))*p.prices.axis[resource.Memory]/b.leastMemory)
	}
	return most * (b.dearest * (1 + 1e-9))
}
