package plan

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// The lower bound.
//
// Take any weights w of the resources, none negative. A new node bought through column o at price c(o) has free(o), and the units x(s) on it, of demands that
// o can hold, ask for no more than that: sum over s of x(s) need(s) <= free(o) in each resource, hence also weighted by w. Give each unit of s the value
//
//	value(s) = w.need(s) * min over the columns o that can hold s of c(o) / w.free(o).
//
// Then all units on a node together are worth at most its price:
//
//	sum x(s) value(s) <= sum x(s) w.need(s) c(o)/w.free(o) = c(o)/w.free(o) * w.(sum x(s) need(s)) <= c(o).
//
// Summed over the nodes of any fleet that holds all units: the units' values together are at most the fleet's price. So every w gives a lower bound, and
// the greatest found is the plan's. Demands that share no column are on different nodes in every fleet, so each group of demands connected by columns has
// its own w and their bounds add up. (This is the dual of the linear program that allows parts of nodes and of units, with its prices restricted to one w for
// each group; where all demands of a group can use the same columns the restriction costs nothing.)
//
// Two further bounds are by count: a fleet has at least one node that can hold each unit, and demands of which a node takes only so many need that
// many nodes.

// offer is what bounding needs of a number of equal units: their need, how many there are, and the columns that can hold one.
type offer struct {
	need    vector
	count   int
	columns bitset
}

// dual is the greatest bound found, with the value of a unit of each offer that adds up to it.
func (p *problem) dual(offers []offer) (total float64, values []float64) {
	values = make([]float64, len(offers))
	for _, g := range p.connected(offers) {
		bound, w := g.maximize()
		total += bound
		// Packing divides by values: a resource without weight would make units that ask for nothing else worthless.
		blended := make([]float64, len(w))
		for r := range w {
			blended[r] = float64(0.98*w[r]) + 0.02/float64(len(w))
		}
		for _, set := range g.sets {
			unitPrice := set.unitPrice(blended)
			for _, i := range set.offers {
				values[i] = weighted(blended, g.scaled(offers[i].need)) * unitPrice
			}
		}
	}
	return total, values
}

// connection is a group of offers connected by columns that they share.
type connection struct {
	scale []float64
	sets  []*columnSet
}

// columnSet are the offers of which exactly the same columns can hold units.
type columnSet struct {
	columns bitset
	offers  []int
	// need is the sum over the offers' units; prices and free are of the columns that matter for a bound.
	need   []float64
	prices []float64
	free   [][]float64
}

func (p *problem) connected(offers []offer) []*connection {
	var sets []*columnSet
	byKey := map[string]*columnSet{}
	for i := range offers {
		if offers[i].count == 0 || offers[i].columns.empty() {
			continue
		}
		key := string(bytesOf(offers[i].columns))
		set := byKey[key]
		if set == nil {
			set = &columnSet{columns: offers[i].columns}
			byKey[key] = set
			sets = append(sets, set)
		}
		set.offers = append(set.offers, i)
	}
	var connections []*connection
	for len(sets) > 0 {
		reached := sets[0].columns.clone()
		g := &connection{}
		for grown := true; grown; {
			grown = false
			sets = slices.DeleteFunc(sets, func(s *columnSet) bool {
				if !s.columns.intersects(reached) {
					return false
				}
				reached.or(s.columns)
				g.sets = append(g.sets, s)
				grown = true
				return true
			})
		}
		g.read(p, offers, reached)
		connections = append(connections, g)
	}
	return connections
}

func bytesOf(set bitset) []byte {
	bytes := make([]byte, 0, len(set)*8)
	for _, word := range set {
		for shift := 0; shift < 64; shift += 8 {
			bytes = append(bytes, byte(word>>shift))
		}
	}
	return bytes
}

// read fills in amounts, scaled such that the greatest free amount of each resource is one.
func (g *connection) read(p *problem, offers []offer, columns bitset) {
	g.scale = make([]float64, len(p.axes.names))
	for j := range columns.all() {
		for r, amount := range p.configs[p.columns[j].config].free {
			g.scale[r] = max(g.scale[r], float64(amount))
		}
	}
	for _, set := range g.sets {
		set.need = make([]float64, len(g.scale))
		for _, i := range set.offers {
			for r, amount := range g.scaled(offers[i].need) {
				set.need[r] += float64(float64(offers[i].count) * amount)
			}
		}
		var kept []vector
		seen := newBitset(len(p.configs))
		for _, j := range p.byPrice {
			if !set.columns.has(j) || seen.has(p.columns[j].config) {
				continue
			}
			seen.add(p.columns[j].config)
			// A column that costs no less than another and has no more room never has the lower price a unit.
			free := p.configs[p.columns[j].config].free
			if slices.ContainsFunc(kept, func(other vector) bool { return other.atLeast(free) }) {
				continue
			}
			kept = append(kept, free)
			set.free = append(set.free, g.scaled(free))
			set.prices = append(set.prices, p.columns[j].offering.Price)
		}
	}
}

// scaled is a vector in parts of the greatest free amount; what a node lacks entirely counts as none.
func (g *connection) scaled(v vector) []float64 {
	result := make([]float64, len(v))
	for r, amount := range v {
		if g.scale[r] > 0 && amount > 0 {
			result[r] = float64(amount) / g.scale[r]
		}
	}
	return result
}

func weighted(w, amounts []float64) float64 {
	sum := 0.0
	for r := range w {
		sum += float64(w[r] * amounts[r])
	}
	return sum
}

// unitPrice is the least price of a weighted unit among the set's columns.
func (s *columnSet) unitPrice(w []float64) float64 {
	least := math.Inf(1)
	for i := range s.prices {
		if amount := weighted(w, s.free[i]); amount > 0 {
			least = min(least, s.prices[i]/amount)
		}
	}
	return least
}

func (g *connection) bound(w []float64) float64 {
	total := 0.0
	for _, set := range g.sets {
		if need := weighted(w, set.need); need > 0 {
			total += float64(need * set.unitPrice(w))
		}
	}
	return total
}

// maximize looks for the weights of the greatest bound: from equal weights, and from all weight on one resource, it shifts weight between resources in
// ever smaller steps as long as that helps. Any weights are valid, so stopping early loses tightness only.
func (g *connection) maximize() (float64, []float64) {
	var used []int
	for r := range g.scale {
		if slices.ContainsFunc(g.sets, func(s *columnSet) bool { return s.need[r] > 0 }) {
			used = append(used, r)
		}
	}
	best, bestWeights := 0.0, make([]float64, len(g.scale))
	for start := -1; start < len(used); start++ {
		w := make([]float64, len(g.scale))
		for i, r := range used {
			switch {
			case start < 0:
				w[r] = 1 / float64(len(used))
			case i == start:
				w[r] = 1
			}
		}
		bound := g.bound(w)
		for step := 0.5; step > 1e-3; {
			moved := false
			for _, from := range used {
				for _, to := range used {
					amount := min(step, w[from])
					if from == to || amount <= 0 {
						continue
					}
					w[from] -= amount
					w[to] += amount
					if tried := g.bound(w); tried > bound*(1+1e-9) {
						bound, moved = tried, true
					} else {
						w[from] += amount
						w[to] -= amount
					}
				}
			}
			if !moved {
				step /= 2
			}
		}
		if bound > best {
			best, bestWeights = bound, w
		}
	}
	return best, bestWeights
}

// readValues fills in the demands' values, by which packing compares fillings.
func (p *problem) readValues() {
	offers := make([]offer, len(p.demands))
	for i, d := range p.demands {
		offers[i] = offer{need: d.need, count: d.waiting, columns: d.buy}
	}
	_, values := p.dual(offers)
	for i, d := range p.demands {
		d.value = values[i]
	}
}

// lowerBound is what no fleet of new nodes can cost less than that holds the pods counted by shape. Domains that topology bound pods to do not count: another
// plan might have chosen others.
func (p *problem) lowerBound(placed map[*shape]int) float64 {
	var offers []offer
	single := 0.0
	for _, s := range p.shapes {
		if placed[s] == 0 {
			continue
		}
		columns, _ := p.columnsFor(s, s.alternatives, s.need)
		offers = append(offers, offer{need: s.need, count: placed[s], columns: columns})
		cheapest := math.Inf(1)
		for j := range columns.all() {
			cheapest = min(cheapest, p.columns[j].offering.Price)
		}
		if !math.IsInf(cheapest, 1) {
			single = max(single, cheapest*float64(s.leastNodes(placed[s])))
		}
	}
	total, _ := p.dual(offers)
	// A fleet that meets the bound exactly must not look cheaper than it because sums of prices round differently.
	return max(total*(1-1e-9), single)
}

// leastNodes is how many nodes a number of the shape's pods need at least.
func (s *shape) leastNodes(pods int) int {
	most := pods
	if portsClash(s.ports, s.ports) {
		most = 1
	}
	for i := range s.topology.anti {
		if term := &s.topology.anti[i]; term.key == corev1.LabelHostname && term.match(s.pod()) {
			most = 1
		}
	}
	for i := range s.topology.spread {
		if term := &s.topology.spread[i]; term.key == corev1.LabelHostname && term.match(s.pod()) {
			most = min(most, max(term.maxSkew, 1))
		}
	}
	return (pods + most - 1) / most
}
