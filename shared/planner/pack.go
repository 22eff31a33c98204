package planner

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/whittle-dev/whittle/shared/plan"
)

// packer plans new nodes for demands. It prices a column with its filling by what the filling is worth (the units' values, which come from the lower
// bound's dual solution: see bound.go): at best what the column costs. The hardest unit to place leads; of the columns that can hold it the packer takes the one
// that costs least for what is on it, once it is filled up.
type packer struct {
	p *placements
	*ledger
	// left is how many units of each demand have no place yet.
	left  []int
	nodes []*node
	// tier are the columns in question.
	tier bitset
	// weights are what a unit of each axis is worth, by demand on average; value what a unit of each demand is worth, cpu and memory what it asks for of
	// these, size their sum, share memory's part of it, and slot what constraints over hosts make it worth beyond.
	weights                               []float64
	value, cpu, memory, size, share, slot []float64
	// columns are those of the dual, which values come from, candidates which of them are worth a look by demand; rent is by reservation.
	columns    []candidate
	dual       *dual
	candidates []*candidates
	rent       []float64
	// ranked, near and classes are memory for choosing columns.
	ranked  []ranked
	next    []ranked
	near    []nearCandidate
	classes []*class
	// group numbers, by demand, what is the same for demands that the same columns hold and that the same things keep from a node; groups is how many there are.
	group  []int32
	groups int
	// scratch and best are nodes to try fillings on; spare ones are not needed any more.
	scratch, best *node
	spare         []*node
	// made, demands, removed, waited and pile are memory for repack.
	made    []*node
	demands []int32
	removed []fill
	waited  []int
	pile    pile
	// nodeArena, fillArena and freeArena are memory for nodes.
	nodeArena arena[node]
	fillArena arena[fill]
	freeArena arena[int64]
	// random and noise, while improving, make choices differ from one try to the next; without random each choice is the best at hand.
	random *rand.Rand
	noise  float64
	// learn, if it is not nil, is shown all nodes that are tried, together with others that leave nothing over.
	learn func([]*node)
	// work counts what has been done, in items looked at.
	work int
	// tries is how many columns are tried for a node, plainTries how many where nothing but room keeps others from the leading unit's node.
	tries, plainTries int
	// many says that there are many demands: then a node is seldom left so empty that a much cheaper one would do.
	many bool
}

const (
	// triesFew, triesSome and triesMany are how many columns are tried for each node, where there are at most fewDemands, at most someDemands, or more to place.
	triesFew, triesSome, triesMany = 16, 10, 7
	fewDemands, someDemands        = 200, 3000
	// nearCandidates is how many columns are sorted anew for each node.
	nearCandidates = 24
	// triesPlain is how many are tried for units that nothing but room keeps others from, where there are more than triesDemands to place: what fills a node is among so many
	// then that the first few columns do, and more of them would use up early what later nodes lack.
	triesPlain, triesDemands = 5, 800
	// triesScale is how many of about the same size are tried.
	triesScale = 3
	// closeUse is the part of a node's price that what is on it has to be worth for no other column to be tried; fullUse is the part of its price that what is on a node has to be worth for it to count as full.
	closeUse, fullUse = 0.965, 0.94
	// plentifulTypes is how many types, of which one is to be launched, are so many that further ones make no difference.
	plentifulTypes = 3 * plan.MinimumSpotTypes
	// triesWork is the work of a try besides looking at items; candidateScales is how many scales of prices are told apart, half a power of two each.
	triesWork       = 12
	candidateScales = 48
)

// packNewNodes plans places on new nodes for the units that wait: on the nodes planned so far, which keep what they have and may get more, then on further
// ones, from the heaviest pools first. It gives all planned nodes, those it was given first, and lowers the demands' waiting.
func packNewNodes(p *placements, planned []*node) ([]*node, *dual) {
	p.readDemands()
	k := &packer{p: p, ledger: p.newLedger(planned), nodes: slices.Clone(planned), left: make([]int, len(p.demands)), scratch: &node{}, best: &node{}}
	for _, n := range planned {
		p.readHosts(n)
	}
	for i, d := range p.demands {
		k.left[i] = d.waiting
	}
	for _, tier := range p.offers.tiers {
		waiting := k.waiting(tier)
		if len(waiting) == 0 {
			continue
		}
		k.tier = tier
		k.readWorth(waiting)
		pl := k.newPile(waiting)
		k.absorb(pl)
		k.run(pl)
	}
	k.trim(len(planned))
	for i, d := range p.demands {
		d.waiting = k.left[i]
	}
	p.planned = k.nodes
	return k.nodes, k.dual
}

// waiting are the demands that wait and that one of the columns may be bought for.
func (k *packer) waiting(tier bitset) []int32 {
	var waiting []int32
	may := map[*class]bool{}
	for i, d := range k.p.demands {
		if k.left[i] == 0 {
			continue
		}
		bought, known := may[d.class]
		if !known {
			bought = d.class.buy.intersects(tier)
			may[d.class] = bought
		}
		if bought {
			waiting = append(waiting, int32(i))
		}
	}
	return waiting
}

// readWorth fills in what units and columns are worth, and which columns each class should look at.
func (k *packer) readWorth(waiting []int32) {
	p := k.p
	inTier := map[*class]bitset{}
	offers := make([]offer, len(waiting))
	for n, i := range waiting {
		d := p.demands[i]
		if inTier[d.class] == nil {
			set := d.class.buy.clone()
			set.and(k.tier)
			inTier[d.class] = set
		}
		offers[n] = offer{need: d.need, count: k.left[i], columns: inTier[d.class], slots: d.slots}
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
	dual := solveDual(p.offers, offers)
	k.rent = slices.Clone(dual.rent)
	if k.value == nil {
		all := make([]float64, 6*len(p.demands))
		for i, part := range []*[]float64{&k.value, &k.cpu, &k.memory, &k.size, &k.share, &k.slot} {
			*part = all[i*len(p.demands) : (i+1)*len(p.demands)]
		}
	}
	floor := dual.floor()
	paid, needed := make([]float64, dual.width()), make([]float64, dual.width())
	for n, i := range waiting {
		value, at := dual.values[n], dual.best[n]
		need := dual.needOf(n)
		// Packing divides by values: units that weigh nothing would be worthless.
		k.value[i] = float64(0.98*value) + float64(0.02*weighted(floor, need))
		k.slot[i] = 0
		if at < 0 {
			continue
		}
		k.slot[i] = weighted(dual.columns[at].weights[len(dual.axes):dual.width()], need[len(dual.axes):])
		for a, amount := range need {
			amount *= float64(k.left[i])
			paid[a] += float64(amount * (0.9*dual.columns[at].weights[a] + 0.1*floor[a]))
			needed[a] += amount
		}
	}
	k.weights = make([]float64, len(p.work.axes.names))
	for a, r := range dual.axes {
		if needed[a] > 0 {
			k.weights[r] = paid[a] / needed[a] / dual.scale[a]
		}
	}
	for _, i := range waiting {
		need := p.demands[i].need
		k.cpu[i], k.memory[i] = float64(need[axisCPU])*k.weights[axisCPU], float64(need[axisMemory])*k.weights[axisMemory]
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
		class     *class
		repulsion int
	}
	groups := map[kind]int32{}
	if k.group == nil {
		k.group = make([]int32, len(k.p.demands))
	}
	var last kind
	for n, i := range waiting {
		of := kind{k.p.demands[i].class, k.p.demands[i].repulsion}
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

// price is what packing counts for a node of the column's: most of what an instance of a reservation is worth comes to its price, so that they are not wasted.
func (k *packer) price(column int) float64 {
	price := k.p.offers.cost(column)
	if at := k.p.offers.columns[column].reservation; at >= 0 && int(at) < len(k.rent) {
		price += float64(0.9 * k.rent[at])
	}
	return price
}

// run plans nodes from the pools of one weight. Only what they cannot take is left for lighter ones.
func (k *packer) run(pl *pile) {
	first := len(k.nodes)
	began := k.work
	least := improveLeast
	switch {
	case len(pl.leaders) > fewDemands:
		k.pack(pl, orderBalanced)
	case k.packPatterns(pl.leaders):
	default:
		k.packBest(pl.leaders)
		least = improveFew
	}
	if !k.p.work.snapshot.SkipImprovement {
		k.improve(first, k.improveBudget(first, max((k.work-began)/4, least)))
	}
	if k.tier.intersects(k.p.offers.limited) {
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
	var best []*node
	bestLeft, bestCost := math.Inf(1), math.Inf(1)
	for how := range orderCount {
		k.nodes = nil
		k.pack(k.newPile(demands), how)
		if k.learn != nil {
			k.learn(k.nodes)
		}
		left, cost := 0.0, 0.0
		for _, i := range demands {
			left += float64(float64(k.left[i]) * k.value[i])
		}
		for _, n := range k.nodes {
			cost += k.p.offers.cost(n.column)
			k.take(n.column, -1)
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

// pack plans nodes until nothing waits that the columns can hold.
func (k *packer) pack(pl *pile, how order) {
	var aside []fill
	opened, swept := 0, len(pl.leaders)
	for {
		i := k.leader(pl)
		if i < 0 {
			break
		}
		n := k.choose(pl, i, how)
		if n == nil {
			aside = append(aside, fill{demand: i, count: k.left[i]})
			k.left[i] = 0
			continue
		}
		k.open(n)
		if opened += len(n.fills); opened > swept/2 {
			k.sweep(pl)
			opened, swept = 0, max(swept/2, 64)
		} else {
			k.prune(pl)
		}
	}
	for _, f := range aside {
		k.left[f.demand] = f.count
	}
}

// choose is the node that costs least for what is on it among those that hold a unit of the demand; nil if there is none. It is scratch memory.
func (k *packer) choose(pl *pile, leader int, how order) *node {
	p := k.p
	d := p.demands[leader]
	bestRatio, tried := -1.0, 0
	found := false
	var best *candidate
	var ofScale [candidateScales]int
	tries := k.tries
	if d.repulsion == 0 {
		tries = k.plainTries
	}
	for at := 0; ; at++ {
		c, weight := k.candidate(leader, at)
		// No filling is worth more than its column costs: what comes close is good enough.
		if c == nil || tried >= tries || bestRatio > closeUse {
			break
		}
		if ofScale[c.scale] >= triesScale && found || !c.free.fits(d.need) || c.scarce && !k.allows(c.column) {
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
		p.reset(n, c.column)
		if p.room(n, d, 1) == 0 {
			continue
		}
		p.place(n, d, 1)
		k.left[leader]--
		enough := k.fill(pl, n, c, how, false, allowed)
		if enough && c.exotic {
			k.fill(pl, n, c, how, true, anything)
		}
		if enough {
			k.flexible(n)
		}
		k.unfill(n)
		if !enough || len(n.fills) == 0 {
			continue
		}
		worth, price := k.worthOf(n), c.price
		// A node that is as good as full has no cheaper stand-in to speak of.
		if worth < fullUse*price {
			if k.many && !c.scarce {
				price = k.smallest(n, c).price
			} else if j := k.standIn(n); j != n.column {
				p.moved(n, j)
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
		if !k.many || best.scarce || p.offers.configOf(j).pool != p.offers.configOf(best.column).pool || !k.plainly(k.best, best, d.class) {
			j = k.standIn(k.best)
		}
		if j != k.best.column {
			p.moved(k.best, j)
		}
	}
	return k.best
}

// worthOf is what the units on the node are worth. The product is converted so that no machine fuses it with the sum, which would round otherwise.
func (k *packer) worthOf(n *node) float64 {
	worth := 0.0
	for _, f := range n.fills {
		worth += float64(float64(f.count) * k.value[f.demand])
	}
	return worth
}

// open plans the node as often as what waits, the limits and reservations allow.
func (k *packer) open(n *node) {
	times := math.MaxInt
	for _, f := range n.fills {
		times = min(times, k.left[f.demand]/f.count)
	}
	for ; times > 0 && k.allows(n.column); times-- {
		k.add(k.copyOf(n))
	}
}

// copyOf is a copy of the node, in the memory of one that is not needed any more if there is one.
func (k *packer) copyOf(n *node) *node {
	if len(k.spare) == 0 {
		c := &k.nodeArena.take(1)[0]
		*c = *n
		c.fills, c.free, c.counts = k.fillArena.copyOf(n.fills), k.freeArena.copyOf(n.free), slices.Clone(n.counts)
		return c
	}
	c := k.spare[len(k.spare)-1]
	k.spare = k.spare[:len(k.spare)-1]
	fills, free, counts := c.fills, c.free, c.counts
	*c = *n
	c.fills, c.free, c.counts = append(fills[:0], n.fills...), append(free[:0], n.free...), append(counts[:0], n.counts...)
	return c
}

// add takes a node into the plan.
func (k *packer) add(n *node) {
	k.nodes = append(k.nodes, n)
	k.take(n.column, 1)
	for _, f := range n.fills {
		k.left[f.demand] -= f.count
	}
}

// standInSet are the columns of the node's pool that can hold what is on it; exotic ones only for an exotic node. It is scratch memory.
func (k *packer) standInSet(n *node) bitset { return k.p.standInSet(n) }

// standIn is the cheapest column that the node may have.
func (k *packer) standIn(n *node) int {
	// A claim keeps to one reservation, so that another one's types do not count for minValues.
	strict, reservation := k.p.offers.strict(k.p.offers.configOf(n.column).pool), k.p.offers.columns[n.column].reservation
	for j := range k.standInSet(n).all() {
		if strict && k.p.offers.columns[j].reservation != reservation {
			continue
		}
		if j == n.column || k.allows(j) {
			return j
		}
	}
	return n.column
}

// flexible takes units off the node until enough instance types could stand in for it to meet the pool's minValues.
func (k *packer) flexible(n *node) {
	p := k.p
	pool := p.offers.configOf(n.column).pool
	if len(pool.minValues) == 0 || p.offers.bestEffort() {
		return
	}
	for len(n.fills) > 0 && !p.acceptable(n) {
		fills := slices.Clone(n.fills)
		k.unfill(n)
		p.reset(n, n.column)
		halved := false
		for _, f := range fills {
			count := (f.count + 1) / 2
			halved = halved || count < f.count
			p.place(n, p.demands[f.demand], count)
		}
		if !halved {
			// One unit of each is too much still: keep fewer demands.
			p.reset(n, n.column)
			for _, f := range fills[:len(fills)/2] {
				p.place(n, p.demands[f.demand], f.count)
			}
		}
		for _, f := range n.fills {
			k.left[f.demand] -= f.count
		}
	}
}

// absorb puts what waits where the nodes planned so far have room.
func (k *packer) absorb(pl *pile) {
	p := k.p
	for at, n := range k.nodes {
		changed := n.clone()
		k.fill(pl, changed, nil, orderBalanced, true, anything)
		if p.acceptableAmong(k.nodes, changed, n) {
			*k.nodes[at] = *changed
		} else {
			k.unfill(changed)
			for _, f := range n.fills {
				k.left[f.demand] -= f.count
			}
		}
		k.prune(pl)
	}
}
