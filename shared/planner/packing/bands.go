package packing

import (
	"math"
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/resource"
)

const (
	// bandsPerGroup is the most bands of a group, bandItems the demands that make a band worth while.
	bandsPerGroup = 6
	bandItems     = 14
	// bandSamples is how many demands of a group are looked at to divide it.
	bandSamples = 60
	// noItem is no item's demand.
	noItem = int32(-1)
)

// band has demands of one group with similar memory shares, by falling price without slots.
type band struct {
	feasibility *offering.Feasibility
	items       []bandItem
	// head is the first item that may wait, at the one that fill looks at.
	head, at int
	bandScore
	// least is the least need of any item, by axis.
	least resource.Vector
	// otherAxes says that an item needs more than cpu, memory and pods.
	otherAxes bool
	// constrained says that more than room may keep an item from a node.
	constrained bool
	// leastMemory and mostMemory bound the items' memory shares.
	leastMemory, mostMemory float64
	// dearest is the highest ratio of an item's price to its size.
	dearest float64
}

// bandScore is what fill knows of the item that the band is at, for the node that it fills.
type bandScore struct {
	// scored is the demand that the score is of.
	scored int32
	// cpu, memory and slot are the unit's parts of the score.
	cpu, memory, slot float64
	// excess is the unit's weight beyond its value; discount is value by weight where that is positive.
	excess, discount float64
}

// bandItem is a demand with all that fill needs in one place.
type bandItem struct {
	demand int32
	// several says that more than one unit waited.
	several           bool
	cpu, memory, pods int64
	// price is that of a unit without slots.
	price float64
}

// skipAbove moves the band past the items that are dearer than the price. The band has an item.
func (b *band) skipAbove(price float64) {
	if !(b.items[b.at].price > price) {
		return
	}
	low, high := b.at, len(b.items)
	for low < high {
		if mid := (low + high) / 2; b.items[mid].price > price {
			low = mid + 1
		} else {
			high = mid
		}
	}
	b.at = low
}

// addBands divides the members of a group, sorted by price, into bands of about equal size.
func (p *packer) addBands(q *queue, members []dense.Ranked) {
	bands := min(max(len(members)/bandItems, 1), bandsPerGroup)
	if bands == 1 {
		p.addBand(q, members)
		return
	}
	// A sample is enough to find where memory shares divide.
	every := max(len(members)/bandSamples, 1)
	q.memoryShares = q.memoryShares[:0]
	for at := every / 2; at < len(members); at += every {
		q.memoryShares = append(q.memoryShares, p.prices.memoryShare[members[at].Item])
	}
	slices.Sort(q.memoryShares)
	for n := range bands {
		low, high := math.Inf(-1), math.Inf(1)
		if n > 0 {
			low = q.memoryShares[n*len(q.memoryShares)/bands]
		}
		if n < bands-1 {
			high = q.memoryShares[(n+1)*len(q.memoryShares)/bands]
		}
		q.part = q.part[:0]
		for _, s := range members {
			if share := p.prices.memoryShare[s.Item]; low <= share && share < high {
				q.part = append(q.part, s)
			}
		}
		if len(q.part) > 0 {
			p.addBand(q, q.part)
		}
	}
}

// addBand adds a band of demands of one group, sorted by price.
func (p *packer) addBand(q *queue, sorted []dense.Ranked) {
	if len(q.bands) < cap(q.bands) {
		q.bands = q.bands[:len(q.bands)+1]
	} else {
		q.bands = append(q.bands, band{})
	}
	b := &q.bands[len(q.bands)-1]
	first := p.state.Demands[sorted[0].Item]
	*b = band{
		feasibility: first.Feasibility,
		leastMemory: 1,
		least:       append(b.least[:0], first.Need...),
		constrained: first.Feasibility.Resolves != nil,
	}
	from := len(q.items)
	for _, s := range sorted {
		i := s.Item
		d := p.state.Demands[i]
		share, size := p.prices.memoryShare[i], p.prices.size[i]
		b.constrained = b.constrained || d.Conflicts != nil || d.HostRules != nil
		b.leastMemory, b.mostMemory = min(b.leastMemory, share), max(b.mostMemory, share)
		if b.dearest = max(b.dearest, -s.By/size); size == 0 {
			b.dearest = math.Inf(1)
		}
		for r, amount := range d.Need {
			b.least[r] = min(b.least[r], amount)
			b.otherAxes = b.otherAxes || r >= resource.FixedAxes && amount > 0
		}
		q.items = append(q.items, bandItem{
			demand: i, several: p.left[i] > 1, cpu: d.Need[resource.CPU], memory: d.Need[resource.Memory],
			pods: d.Need[resource.Pods], price: -s.By,
		})
	}
	b.items = q.items[from:len(q.items):len(q.items)]
}
