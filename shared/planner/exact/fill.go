package exact

import (
	"cmp"
	"math"
	"slices"
)

// filling finds columns of one node, by branch and bound.
type filling struct {
	*solver
	node *node
	// items are the node's kinds, by falling worth for their weight.
	items []item
	// free and counts are the column that the search is at.
	free   []int64
	counts []int
	// above is what a column must be worth more than; best is the best one of take.
	above float64
	best  []int
	found bool
	// list, if not nil, receives all full columns, and above stays.
	list  func(value float64)
	steps int
	most  int
}

// item is a kind that the node can hold.
type item struct {
	kind  int
	price float64
	// density is the worth of a unit for its weight; value and weight are those of all units.
	density, value, weight float64
	need                   []int64
	count                  int
}

func (f *filling) init(s *solver) {
	f.solver = s
	f.free, f.counts, f.best = make([]int64, s.axes), make([]int, len(s.Kinds)), make([]int, len(s.Kinds))
}

// take finds the column of the node that is worth most, if that is more than above. It returns what
// it is worth, or what none exceeds if the search was cut short. f.found says whether f.best has
// such a column.
func (f *filling) take(n *node, prices []float64, above float64, most int) float64 {
	f.list = nil
	limit := f.start(n, prices, above, most)
	if limit <= above {
		return limit
	}
	f.extend(0, 0, f.weigh())
	f.work += f.steps
	if f.steps > f.most {
		return limit
	}
	return f.above
}

// all passes each full column to the list that is worth more than above, in f.counts. It reports
// false if the search was cut short.
func (f *filling) all(n *node, prices []float64, above float64, most int, list func(value float64)) bool {
	f.list = list
	if f.start(n, prices, above, most) <= above {
		return true
	}
	f.extend(0, 0, f.weigh())
	f.work += f.steps
	return f.steps <= f.most
}

// start lists the node's items. It returns what no column is worth more than.
func (f *filling) start(n *node, prices []float64, above float64, most int) float64 {
	f.node, f.above, f.most, f.steps, f.found = n, above, most, 0, false
	copy(f.free, n.free)
	clear(f.counts)
	f.work += 2 + len(n.bin.Fits)/2
	f.knapsack.Solve(&n.bin, prices)
	f.items = f.items[:0]
	for at, k := range n.bin.Fits {
		weight := 0.0
		for a, need := range n.bin.Needs[at*len(n.bin.Free):][:f.axes] {
			weight += float64(need * n.bin.Weights[a])
		}
		density := 0.0
		if prices[k] > 0 {
			density = math.Inf(1)
			if weight > 0 {
				density = prices[k] / weight
			}
		}
		f.items = append(f.items, item{
			kind: k, price: prices[k], density: density, need: f.Kinds[k].Need, count: f.Kinds[k].Count,
			value:  float64(prices[k] * float64(f.Kinds[k].Count)),
			weight: float64(weight * float64(f.Kinds[k].Count)),
		})
	}
	slices.SortFunc(f.items, func(a, b item) int {
		return cmp.Or(-cmp.Compare(a.density, b.density), cmp.Compare(a.kind, b.kind))
	})
	return f.limit(0, f.weigh())
}

// weigh is what the free part of the node weighs.
func (f *filling) weigh() float64 {
	weight := 0.0
	for a, free := range f.free {
		if w := f.node.bin.Weights[a]; w > 0 {
			weight += float64(float64(free) / f.scale[a] * w)
		}
	}
	return weight
}

// limit is what the items from a position on can add at most, if the free part weighs so much. No
// unit weighs less than its share of that, and there are only so many.
func (f *filling) limit(from int, weight float64) float64 {
	value := 0.0
	for i := from; i < len(f.items); i++ {
		it := &f.items[i]
		if it.weight > weight {
			return (value + float64(it.density*weight)) * (1 + 1e-12)
		}
		value, weight = value+it.value, weight-it.weight
	}
	return value * (1 + 1e-12)
}

// extend adds units of the items from a position on, in all ways that may be worth enough.
func (f *filling) extend(from int, value, weight float64) {
	f.steps++
	if f.steps > f.most {
		return
	}
	if from == len(f.items) {
		f.reach(value)
		return
	}
	if value+f.limit(from, weight) <= f.above {
		return
	}
	it := &f.items[from]
	room := f.room(it)
	for a, need := range it.need {
		f.free[a] -= need * int64(room)
	}
	for count := room; ; count-- {
		f.counts[it.kind] = count
		f.extend(from+1, value+float64(float64(count)*it.price), f.weigh())
		if count == 0 || f.steps > f.most {
			break
		}
		for a, need := range it.need {
			f.free[a] += need
		}
	}
	for a, need := range it.need {
		f.free[a] += need * int64(f.counts[it.kind])
	}
	f.counts[it.kind] = 0
}

// room is how many units of the item fit beside those on the node.
func (f *filling) room(it *item) int {
	room := int64(it.count)
	for a, need := range it.need {
		if need > 0 {
			room = min(room, f.free[a]/need)
		}
	}
	if room == 0 {
		return 0
	}
	if excludes := f.Kinds[it.kind].Excludes; excludes != 0 {
		for i := range f.items {
			if k := f.items[i].kind; f.counts[k] > 0 && excludes&(1<<k) != 0 {
				return 0
			}
		}
		if excludes&(1<<it.kind) != 0 {
			room = 1
		}
	}
	return int(room)
}

// reach takes the column that the search is at.
func (f *filling) reach(value float64) {
	if value <= f.above {
		return
	}
	if f.list == nil {
		f.above, f.found = value, true
		copy(f.best, f.counts)
		return
	}
	if f.isFull() {
		f.list(value)
	}
}

// isFull reports whether no further unit fits on the node.
func (f *filling) isFull() bool {
	for i := range f.items {
		it := &f.items[i]
		if f.counts[it.kind] < it.count && fits(it.need, f.free) {
			more := *it
			if f.Kinds[it.kind].Excludes&(1<<it.kind) != 0 && f.counts[it.kind] > 0 {
				continue
			}
			if f.room(&more) > 0 {
				return false
			}
		}
	}
	return true
}
