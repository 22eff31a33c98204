package plan

import (
	"math"
	"slices"
)

// packer plans new nodes for demands. It prices a column with its filling by what the filling is worth (the units' values, which come from the lower
// bound's dual solution: see bound.go), and again and again takes the column that costs least for its worth.
type packer struct {
	p *problem
	// left is how many units of each demand have no place yet; waiting are the demands that have any.
	left    []int
	waiting bitset
	// buyers are, by column, the demands that it may be bought for; holders those that may share it once it is there.
	buyers, holders []bitset
	// limits is what is left of each pool's limits.
	limits map[*pool][]int64
	nodes  []*node
	// fillings counts the work done, budget is the count at which grow stops.
	fillings, budget int
}

func (p *problem) newPacker(planned []*node) *packer {
	k := &packer{p: p, nodes: slices.Clone(planned), left: make([]int, len(p.demands)), waiting: newBitset(len(p.demands)), limits: map[*pool][]int64{}}
	for i, d := range p.demands {
		k.setLeft(i, d.waiting)
	}
	k.buyers, k.holders = transpose(p, func(d *demand) bitset { return d.buy }), transpose(p, func(d *demand) bitset { return d.feasible })
	for _, pool := range p.pools {
		k.limits[pool] = pool.left()
	}
	for _, n := range planned {
		c := &p.configs[p.columns[n.column].config]
		for i := range c.use {
			k.limits[c.pool][i] -= c.use[i]
		}
	}
	return k
}

// transpose turns the demands' sets of columns into the columns' sets of demands.
func transpose(p *problem, columns func(*demand) bitset) []bitset {
	words := len(newBitset(len(p.demands)))
	all := make(bitset, words*len(p.columns))
	result := make([]bitset, len(p.columns))
	for i := range result {
		result[i] = all[i*words : (i+1)*words : (i+1)*words]
	}
	for _, d := range p.demands {
		for j := range columns(d).all() {
			result[j].add(d.index)
		}
	}
	return result
}

func (k *packer) setLeft(demand, count int) {
	k.left[demand] = count
	if count > 0 {
		k.waiting.add(demand)
	} else {
		k.waiting[demand/64] &^= 1 << (demand % 64)
	}
}

// run plans nodes from the pools of one weight. Only what they cannot take is left for lighter ones.
func (k *packer) run(tier bitset) {
	first := len(k.nodes)
	candidates := k.frontier(tier, false)
	k.pack(candidates, slices.Values(k.p.orders[0]))
	if k.anyLimited(tier) && !k.waiting.empty() {
		// What the limits left over may still fit in smaller nodes, which look dominated as long as limits do not count.
		candidates = k.frontier(tier, true)
		k.pack(candidates, slices.Values(k.p.orders[0]))
	}
	k.improve(first, candidates)
	if k.anyLimited(tier) {
		k.budget = k.fillings + growBudget
		for !k.waiting.empty() && k.grow(first, tier) {
		}
	}
}

func (k *packer) anyLimited(tier bitset) bool {
	return slices.ContainsFunc(k.p.pools, func(p *pool) bool {
		return len(p.limits) > 0 && p.firstConfig < p.endConfig && tier.has(k.p.configs[p.firstConfig].firstColumn)
	})
}

// frontier are the columns worth a look for the waiting demands: those to which no other column is preferable in price, room and the demands it holds, all
// three. With limits a column of another pool, or one that takes more of its pool's limits, is never preferable.
func (k *packer) frontier(tier bitset, limits bool) []int {
	p := k.p
	var kept []int
next:
	for _, a := range p.byPrice {
		if !tier.has(a) || !k.buyers[a].intersects(k.waiting) {
			continue
		}
		ca := &p.configs[p.columns[a].config]
		for _, b := range kept {
			cb := &p.configs[p.columns[b].config]
			if !cb.free.atLeast(ca.free) || !k.holders[b].contains(k.holders[a]) || !k.buyers[b].contains(k.buyers[a]) {
				continue
			}
			if cb.pool != ca.pool && (limits || len(cb.pool.minValues) > 0) {
				continue
			}
			if limits && !noMore(cb.use, ca.use) {
				continue
			}
			continue next
		}
		kept = append(kept, a)
	}
	return kept
}

func noMore(a, b []int64) bool {
	for i := range a {
		if a[i] > b[i] {
			return false
		}
	}
	return true
}

// pack plans nodes until nothing waits that the columns can hold.
func (k *packer) pack(columns []int, order func(func(int) bool)) {
	p := k.p
	patterns := make([]*node, len(columns))
	values := make([]float64, len(columns))
	live := make([]int, len(columns))
	for i := range live {
		live[i] = i
	}
	for !k.waiting.empty() {
		best, bestRatio := -1, math.Inf(1)
		kept := live[:0]
		for _, i := range live {
			if patterns[i] != nil && !k.valid(patterns[i]) {
				patterns[i] = nil
			}
			if patterns[i] == nil {
				if !k.buyers[columns[i]].intersects(k.waiting) || !k.withinLimits(columns[i]) {
					continue // and never again: what waits and what limits leave only gets less
				}
				if patterns[i] = k.fill(columns[i], order); len(patterns[i].fills) == 0 {
					continue
				}
				values[i] = k.value(patterns[i])
			}
			kept = append(kept, i)
			if ratio := p.cost(columns[i]) / values[i]; ratio < bestRatio {
				best, bestRatio = i, ratio
			}
		}
		live = kept
		if best < 0 {
			return
		}
		k.open(patterns[best])
	}
}

// valid reports whether a filling made earlier is still what fill would make: all that it puts on the node still waits.
func (k *packer) valid(n *node) bool {
	for _, f := range n.fills {
		if k.left[f.demand] < f.count {
			return false
		}
	}
	return k.withinLimits(n.column)
}

// fill makes a node of the column's and puts on it what waits, in the given order of the demands: first those it may be bought for, then others that it
// can hold beside them.
func (k *packer) fill(column int, order func(func(int) bool)) *node {
	k.fillings++
	p := k.p
	n := p.newNode(column)
	for _, eligible := range [...]bitset{k.buyers[column], k.holders[column]} {
		for i := range order {
			if k.left[i] == 0 || !eligible.has(i) {
				continue
			}
			d := p.demands[i]
			limit := k.left[i]
			if slices.ContainsFunc(n.fills, func(f fill) bool { return f.demand == i }) {
				continue
			}
			if count := p.room(n, d, limit); count > 0 {
				p.place(n, d, count)
			}
		}
		if !p.isExotic(column) || len(n.fills) == 0 {
			break
		}
	}
	return k.flexible(n)
}

// flexible takes units off the node until enough instance types could stand in for it to meet the pool's minValues.
func (k *packer) flexible(n *node) *node {
	p := k.p
	pool := p.configs[p.columns[n.column].config].pool
	for len(pool.minValues) > 0 && len(n.fills) > 0 && !p.meetsMinValues(pool, p.standIns(n)) {
		smaller := p.newNode(n.column)
		halved := false
		for _, f := range n.fills {
			count := (f.count + 1) / 2
			halved = halved || count < f.count
			p.place(smaller, p.demands[f.demand], count)
		}
		if !halved {
			// One unit of each is too much still: keep fewer demands.
			smaller = p.newNode(n.column)
			for _, f := range n.fills[:len(n.fills)/2] {
				p.place(smaller, p.demands[f.demand], f.count)
			}
		}
		n = smaller
	}
	return n
}

// value is what the units on the node are worth. The product is converted so that no machine fuses it with the sum, which would round otherwise.
func (k *packer) value(n *node) float64 {
	value := 0.0
	for _, f := range n.fills {
		value += float64(float64(f.count) * k.p.demands[f.demand].value)
	}
	return value
}

func (k *packer) withinLimits(column int) bool {
	c := &k.p.configs[k.p.columns[column].config]
	for i, left := range k.limits[c.pool] {
		if c.use[i] > left {
			return false
		}
	}
	return true
}

// open plans the node as often as what waits and the limits allow.
func (k *packer) open(n *node) {
	times := math.MaxInt
	for _, f := range n.fills {
		times = min(times, k.left[f.demand]/f.count)
	}
	for ; times > 0 && k.withinLimits(n.column); times-- {
		k.add(n.clone())
	}
}

// add takes a node into the plan; remove takes it out.
func (k *packer) add(n *node)    { k.nodes = append(k.nodes, n); k.account(n, 1) }
func (k *packer) remove(n *node) { k.account(n, -1) }

func (k *packer) account(n *node, sign int) {
	for _, f := range n.fills {
		k.setLeft(f.demand, k.left[f.demand]-sign*f.count)
	}
	c := &k.p.configs[k.p.columns[n.column].config]
	for i := range k.limits[c.pool] {
		k.limits[c.pool][i] -= int64(sign) * c.use[i]
	}
}

func (p *problem) isExotic(column int) bool { return p.exotic.has(column) }

// diskPricePerHour is what each node costs besides its instance: its root volume, 20 GiB of gp3 at 0.08 US dollars a GiB and month of 730 hours
// (https://aws.amazon.com/ebs/pricing/, us-east-1). It is no part of any price in the plan, but keeps packing from taking many tiny nodes for the sake of
// a price that is only a little lower.
const diskPricePerHour = 20 * 0.08 / 730

// cost is what packing counts for a node of the column's.
func (p *problem) cost(column int) float64 {
	return p.columns[column].offering.Price + diskPricePerHour
}
