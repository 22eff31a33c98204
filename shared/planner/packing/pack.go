package packing

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/bound"
	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/lp"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/resource"
)

// packer plans new nodes for demands. It prices an offering with its filling by what the filling is
// worth (the units' values, which come from the lower bound's dual solution: see bound.go): at best
// what the offering costs. The hardest unit to place leads; of the offerings that can hold it the
// packer takes the one that costs least for what is on it, once it is filled up.
type packer struct {
	p *placement.State
	*placement.Ledger
	// left is how many units of each demand have no place yet.
	left  []int
	nodes []*placement.PlannedNode
	// tier are the offerings in question.
	tier dense.Set
	// weights are what a unit of each axis is worth, by demand on average; value what a unit of each
	// demand is worth, cpu and memory what it asks for of these, size their sum, share memory's part
	// of it, and slot what constraints over hosts make it worth beyond.
	weights                               []float64
	value, cpu, memory, size, share, slot []float64
	// offerings are those of the dual, which values come from, candidates which of them are worth a
	// look by demand; reservation price is by reservation.
	columns    []candidate
	dual       *bound.Dual
	candidates []*candidates
	rent       []float64
	// ranked, near and classes are memory for choosing offerings.
	ranked  []dense.Ranked
	next    []dense.Ranked
	near    []nearCandidate
	classes []*offering.Feasibility
	// group numbers, by demand, what is the same for demands that the same offerings hold and that the
	// same things keep from a node; groups is how many there are.
	group  []int32
	groups int
	// scratch and best are nodes to try fillings on; spare ones are not needed any more.
	scratch, best *placement.PlannedNode
	spare         []*placement.PlannedNode
	// made, demands, removed, waited and queue are memory for repack.
	made    []*placement.PlannedNode
	demands []int32
	removed []placement.Fill
	waited  []int
	queue   queue
	// nodeArena, fillArena and freeArena are memory for nodes.
	nodeArena dense.Arena[placement.PlannedNode]
	fillArena dense.Arena[placement.Fill]
	freeArena dense.Arena[int64]
	// random and noise, while improving, make choices differ from one try to the next; without random
	// each choice is the best at hand.
	random *rand.Rand
	noise  float64
	// learn, if it is not nil, is shown all nodes that are tried, together with others that leave
	// nothing over.
	learn func([]*placement.PlannedNode)
	// work counts what has been done, in items looked at.
	work int
	// tries is how many offerings are tried for a node, plainTries how many where nothing but room
	// keeps others from the leading unit's node.
	tries, plainTries int
	// many says that there are many demands: then a node is seldom left so empty that a much cheaper
	// one would do.
	many bool
}

const (
	// triesFew, triesSome and triesMany are how many offerings are tried for each node, where there
	// are at most fewDemands, at most someDemands, or more to place.
	triesFew, triesSome, triesMany = 16, 10, 7
	fewDemands, someDemands        = 200, 3000
	// nearCandidates is how many offerings are sorted anew for each node.
	nearCandidates = 24
	// triesPlain is how many are tried for units that nothing but room keeps others from, where there
	// are more than triesDemands to place: what fills a node is among so many then that the first few
	// offerings do, and more of them would use up early what later nodes lack.
	triesPlain, triesDemands = 5, 800
	// triesScale is how many of about the same size are tried.
	triesScale = 3
	// closeUse is the part of a node's price that what is on it has to be worth for no other offering
	// to be tried; fullUse is the part of its price that what is on a node has to be worth for it to
	// count as full.
	closeUse, fullUse = 0.965, 0.94
	// plentifulTypes is how many types, of which one is to be launched, are so many that further ones
	// make no difference.
	plentifulTypes = 3 * plan.MinimumSpotTypes
	// triesWork is the work of a try besides looking at items; candidateScales is how many scales of
	// prices are told apart, half a power of two each.
	triesWork       = 12
	candidateScales = 48
)

// Pack plans places on new nodes for the units that wait: on the nodes planned so far, which keep
// what they have and may get more, then on further ones, from the heaviest pools first. It gives
// all planned nodes, those it was given first, and lowers the demands' waiting.
func Pack(p *placement.State, planned []*placement.PlannedNode) ([]*placement.PlannedNode, *bound.Dual) {
	p.PrepareDemands()
	k := &packer{
		p:       p,
		Ledger:  p.NewLedger(planned),
		nodes:   slices.Clone(planned),
		left:    make([]int, len(p.Demands)),
		scratch: &placement.PlannedNode{},
		best:    &placement.PlannedNode{},
	}
	for _, n := range planned {
		p.RefreshHostCounts(n)
	}
	for i, d := range p.Demands {
		k.left[i] = d.Waiting
	}
	for _, tier := range p.Offers.Tiers {
		waiting := k.waiting(tier)
		if len(waiting) == 0 {
			continue
		}
		k.tier = tier
		k.readPrices(waiting)
		pl := k.newQueue(waiting)
		k.fillPlanned(pl)
		k.run(pl)
	}
	k.trim(len(planned))
	for i, d := range p.Demands {
		d.Waiting = k.left[i]
	}
	p.Planned = k.nodes
	return k.nodes, k.dual
}

// waiting are the demands that wait and that one of the offerings may be bought for.
func (k *packer) waiting(tier dense.Set) []int32 {
	var waiting []int32
	may := map[*offering.Feasibility]bool{}
	for i, d := range k.p.Demands {
		if k.left[i] == 0 {
			continue
		}
		bought, known := may[d.Feasibility]
		if !known {
			bought = d.Feasibility.Buyable.Intersects(tier)
			may[d.Feasibility] = bought
		}
		if bought {
			waiting = append(waiting, int32(i))
		}
	}
	return waiting
}

// readPrices fills in what units and offerings are worth, and which offerings each class should
// look at.
func (k *packer) readPrices(waiting []int32) {
	p := k.p
	inTier := map[*offering.Feasibility]*dense.Set{}
	offers := make([]bound.Units, len(waiting))
	for n, i := range waiting {
		d := p.Demands[i]
		if inTier[d.Feasibility] == nil {
			set := d.Feasibility.Buyable.Clone()
			set.And(k.tier)
			inTier[d.Feasibility] = &set
		}
		offers[n] = bound.Units{
			ID: d.NeedID(), Need: d.Need, Count: k.left[i], Offerings: inTier[d.Feasibility], Slots: d.Slots,
		}
	}
	k.many = len(waiting) > fewDemands
	switch {
	case !k.many:
		k.tries, k.plainTries = triesFew, triesFew
	case len(waiting) <= triesDemands:
		k.tries, k.plainTries = triesSome, triesSome
	case len(waiting) <= someDemands:
		k.tries, k.plainTries = triesSome, triesPlain
	default:
		k.tries, k.plainTries = triesMany, triesPlain
	}
	dual := bound.Solve(p.Offers, offers)
	k.rent = slices.Clone(dual.ReservationPrices)
	if k.value == nil {
		all := make([]float64, 6*len(p.Demands))
		for i, part := range []*[]float64{&k.value, &k.cpu, &k.memory, &k.size, &k.share, &k.slot} {
			*part = all[i*len(p.Demands) : (i+1)*len(p.Demands)]
		}
	}
	floor := dual.FloorPrices()
	paid, needed := make([]float64, dual.Width()), make([]float64, dual.Width())
	for n, i := range waiting {
		value, at := dual.Prices[n], dual.Best[n]
		need := dual.NeedOf(n)
		// Packing divides by values: units that weigh nothing would be worthless.
		k.value[i] = float64(0.98*value) + float64(0.02*lp.Dot(floor, need))
		k.slot[i] = 0
		if at < 0 {
			continue
		}
		k.slot[i] = lp.Dot(dual.Offerings[at].Weights[len(dual.Axes):dual.Width()], need[len(dual.Axes):])
		for a, amount := range need {
			amount *= float64(k.left[i])
			paid[a] += float64(amount * (0.9*dual.Offerings[at].Weights[a] + 0.1*floor[a]))
			needed[a] += amount
		}
	}
	k.weights = make([]float64, len(p.Work.Axes.Names))
	for a, r := range dual.Axes {
		if needed[a] > 0 {
			k.weights[r] = paid[a] / needed[a] / dual.Scale[a]
		}
	}
	for _, i := range waiting {
		need := p.Demands[i].Need
		k.cpu[i], k.memory[i] = float64(
			need[resource.CPU],
		)*k.weights[resource.CPU], float64(
			need[resource.Memory],
		)*k.weights[resource.Memory]
		if k.size[i] = k.cpu[i] + k.memory[i]; k.size[i] > 0 {
			k.share[i] = k.memory[i] / k.size[i]
		}
	}
	k.readGroups(waiting)
	k.readCandidates(dual, waiting)
}

// readGroups numbers the groups of demands.
func (k *packer) readGroups(waiting []int32) {
	type kind struct {
		class     *offering.Feasibility
		repulsion int
	}
	groups := map[kind]int32{}
	if k.group == nil {
		k.group = make([]int32, len(k.p.Demands))
	}
	var last kind
	for n, i := range waiting {
		of := kind{k.p.Demands[i].Feasibility, k.p.Demands[i].HostConstraintsID}
		if n > 0 && of == last {
			k.group[i] = k.group[waiting[n-1]]
			continue
		}
		group, ok := groups[of]
		if !ok {
			group = int32(len(groups))
			groups[of] = group
		}
		k.group[i], last = group, of
	}
	k.groups = len(groups)
}

// price is what packing counts for a node of the offering's: most of what an instance of a
// reservation is worth comes to its price, so that they are not wasted.
func (k *packer) price(column int) float64 {
	price := k.p.Offers.Cost(column)
	if at := k.p.Offers.Offerings[column].Reservation; at >= 0 && int(at) < len(k.rent) {
		price += float64(0.9 * k.rent[at])
	}
	return price
}

// run plans nodes from the pools of one weight. Only what they cannot take is left for lighter
// ones.
func (k *packer) run(pl *queue) {
	first := len(k.nodes)
	began := k.work
	least := improveLeast
	switch {
	case len(pl.seeds) > fewDemands:
		k.pack(pl, orderBalanced)
	case k.packPatterns(pl.seeds):
	default:
		k.packBest(pl.seeds)
		least = improveFew
	}
	if !k.p.Work.Snapshot.SkipImprovement {
		k.improve(first, k.improveBudget(first, max((k.work-began)/4, least)))
	}
	if k.tier.Intersects(k.p.Offers.Limited) {
		budget := growBudget
		for k.grow(first, &budget) {
		}
	}
}

// packBest packs in each order, and keeps the nodes of the one that leaves least and costs least.
func (k *packer) packBest(demands []int32) {
	before, kept := slices.Clone(k.left), k.nodes
	demands = slices.Clone(demands)
	slices.Sort(demands)
	var best []*placement.PlannedNode
	bestLeft, bestCost := math.Inf(1), math.Inf(1)
	for how := range orderCount {
		k.nodes = nil
		k.pack(k.newQueue(demands), how)
		if k.learn != nil {
			k.learn(k.nodes)
		}
		left, cost := 0.0, 0.0
		for _, i := range demands {
			left += float64(float64(k.left[i]) * k.value[i])
		}
		for _, n := range k.nodes {
			cost += k.p.Offers.Cost(n.Offering)
			k.Take(n.Offering, -1)
		}
		copy(k.left, before)
		if left < bestLeft*(1-1e-9) || left <= bestLeft*(1+1e-9) && cost < bestCost-minimumGain {
			best, bestLeft, bestCost = k.nodes, left, cost
		}
	}
	k.nodes = kept
	for _, n := range best {
		k.add(n)
	}
}

// pack plans nodes until nothing waits that the offerings can hold.
func (k *packer) pack(pl *queue, how order) {
	var aside []placement.Fill
	opened, swept := 0, len(pl.seeds)
	for {
		i := k.seed(pl)
		if i < 0 {
			break
		}
		n := k.choose(pl, i, how)
		if n == nil {
			aside = append(aside, placement.Fill{Demand: i, Count: k.left[i]})
			k.left[i] = 0
			continue
		}
		k.open(n)
		if opened += len(n.Fills); opened > swept/2 {
			k.sweep(pl)
			opened, swept = 0, max(swept/2, 64)
		} else {
			k.prune(pl)
		}
	}
	for _, f := range aside {
		k.left[f.Demand] = f.Count
	}
}

// choose is the node that costs least for what is on it among those that hold a unit of the demand;
// nil if there is none. It is scratch memory.
func (k *packer) choose(pl *queue, leader int, how order) *placement.PlannedNode {
	p := k.p
	d := p.Demands[leader]
	bestRatio, tried := -1.0, 0
	found := false
	var best *candidate
	var ofScale [candidateScales]int
	tries := k.tries
	if d.HostConstraintsID == 0 {
		tries = k.plainTries
	}
	for at := 0; ; at++ {
		c, weight := k.candidate(leader, at)
		// No filling is worth more than its offering costs: what comes close is good enough.
		if c == nil || tried >= tries || bestRatio > closeUse {
			break
		}
		if ofScale[c.scale] >= triesScale && found || !c.free.Fits(d.Need) || c.scarce && !k.Allows(c.column) {
			continue
		}
		ofScale[c.scale]++
		tried++
		k.work += triesWork
		allowed := anything
		if k.many {
			allowed = c.price*(1-bestRatio) - (weight - k.value[leader] + k.slot[leader])
		}
		if allowed < 0 {
			continue
		}
		n := k.scratch
		p.Reset(n, c.column)
		if p.Room(n, d, 1) == 0 {
			continue
		}
		p.Place(n, d, 1)
		k.left[leader]--
		enough := k.fill(pl, n, c, how, false, allowed)
		if enough && c.exotic {
			k.fill(pl, n, c, how, true, anything)
		}
		if enough {
			k.flexible(n)
		}
		k.unfill(n)
		if !enough || len(n.Fills) == 0 {
			continue
		}
		worth, price := k.valueOf(n), c.price
		// A node that is as good as full has no cheaper stand-in to speak of.
		if worth < fullUse*price {
			if k.many && !c.scarce {
				price = k.smallest(n, c).price
			} else if j := k.cheapestAlternative(n); j != n.Offering {
				p.ChangeOffering(n, j)
				price = k.price(j)
			}
		}
		stray := 1.0
		if k.random != nil {
			stray -= float64(k.noise * k.random.Float64())
		}
		if worth/price*stray <= bestRatio {
			continue
		}
		if ratio := worth / k.launchable(n, c, leader, price) * stray; ratio > bestRatio {
			bestRatio, best, found = ratio, c, true
			k.scratch, k.best = k.best, k.scratch
		}
	}
	if !found {
		return nil
	}
	if smallest := k.smallest(k.best, best); !k.many || best.scarce || smallest != best {
		j := smallest.column
		if !k.many || best.scarce || p.Offers.PoolTypeOf(j).Pool != p.Offers.PoolTypeOf(best.column).Pool ||
			!k.plainly(k.best, best, d.Feasibility) {
			j = k.cheapestAlternative(k.best)
		}
		if j != k.best.Offering {
			p.ChangeOffering(k.best, j)
		}
	}
	return k.best
}

// valueOf is what the units on the node are worth. The product is converted so that no machine
// fuses it with the sum, which would round otherwise.
func (k *packer) valueOf(n *placement.PlannedNode) float64 {
	worth := 0.0
	for _, f := range n.Fills {
		worth += float64(float64(f.Count) * k.value[f.Demand])
	}
	return worth
}

// open plans the node as often as what waits, the limits and reservations allow.
func (k *packer) open(n *placement.PlannedNode) {
	times := math.MaxInt
	for _, f := range n.Fills {
		times = min(times, k.left[f.Demand]/f.Count)
	}
	for ; times > 0 && k.Allows(n.Offering); times-- {
		k.add(k.copyOf(n))
	}
}

// copyOf is a copy of the node, in the memory of one that is not needed any more if there is one.
func (k *packer) copyOf(n *placement.PlannedNode) *placement.PlannedNode {
	if len(k.spare) == 0 {
		c := &k.nodeArena.Take(1)[0]
		*c = *n
		c.Fills, c.Free, c.Counts = k.fillArena.CopyOf(n.Fills), k.freeArena.CopyOf(n.Free), slices.Clone(n.Counts)
		return c
	}
	c := k.spare[len(k.spare)-1]
	k.spare = k.spare[:len(k.spare)-1]
	fills, free, counts := c.Fills, c.Free, c.Counts
	*c = *n
	c.Fills, c.Free, c.Counts = append(fills[:0], n.Fills...), append(free[:0], n.Free...), append(counts[:0], n.Counts...)
	return c
}

// add takes a node into the plan.
func (k *packer) add(n *placement.PlannedNode) {
	k.nodes = append(k.nodes, n)
	k.Take(n.Offering, 1)
	for _, f := range n.Fills {
		k.left[f.Demand] -= f.Count
	}
}

// alternatives are the offerings of the node's pool that can hold what is on it; exotic ones only
// for an exotic node. It is scratch memory.
func (k *packer) alternatives(n *placement.PlannedNode) dense.Set { return k.p.AlternativesFor(n) }

// cheapestAlternative is the cheapest offering that the node may have.
func (k *packer) cheapestAlternative(n *placement.PlannedNode) int {
	// A claim keeps to one reservation, so that another one's types do not count for minValues.
	strict, reservation := k.p.Offers.StrictMinValues(
		k.p.Offers.PoolTypeOf(n.Offering).Pool,
	), k.p.Offers.Offerings[n.Offering].Reservation
	for j := range k.alternatives(n).All() {
		if strict && k.p.Offers.Offerings[j].Reservation != reservation {
			continue
		}
		if j == n.Offering || k.Allows(j) {
			return j
		}
	}
	return n.Offering
}

// flexible takes units off the node until enough instance types could replace it to meet the pool's
// minValues.
func (k *packer) flexible(n *placement.PlannedNode) {
	p := k.p
	pool := p.Offers.PoolTypeOf(n.Offering).Pool
	if len(pool.MinValues) == 0 || p.Offers.BestEffortMinValues() {
		return
	}
	for len(n.Fills) > 0 && !p.CanMeetMinValues(n) {
		fills := slices.Clone(n.Fills)
		k.unfill(n)
		p.Reset(n, n.Offering)
		halved := false
		for _, f := range fills {
			count := (f.Count + 1) / 2
			halved = halved || count < f.Count
			p.Place(n, p.Demands[f.Demand], count)
		}
		if !halved {
			// One unit of each is too much still: keep fewer demands.
			p.Reset(n, n.Offering)
			for _, f := range fills[:len(fills)/2] {
				p.Place(n, p.Demands[f.Demand], f.Count)
			}
		}
		for _, f := range n.Fills {
			k.left[f.Demand] -= f.Count
		}
	}
}

// fillPlanned puts what waits where the nodes planned so far have room.
func (k *packer) fillPlanned(pl *queue) {
	p := k.p
	for at, n := range k.nodes {
		changed := n.Clone()
		k.fill(pl, changed, nil, orderBalanced, true, anything)
		if p.CanMeetMinValuesAmong(k.nodes, changed, n) {
			*k.nodes[at] = *changed
		} else {
			k.unfill(changed)
			for _, f := range n.Fills {
				k.left[f.Demand] -= f.Count
			}
		}
		k.prune(pl)
	}
}
