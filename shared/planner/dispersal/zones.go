package dispersal

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// A spot claim lists many offerings, and EC2 chooses. Two claims with the same list may both come
// from the same spot pool. Only claims that have no pool in common certainly do not, and zones
// divide a list with all of its instance types.

// zonePasses is how often the zones of all nodes are looked at again.
const zonePasses = 4

// zoning keeps nodes to zones.
type zoning struct {
	*lists
	ledger *placement.Ledger
	// listed are the nodes' lists now, and before those without any zone kept.
	listed, before []*list
	// nodes are those to keep to a zone, chosen has the zone of each, and options what it may be.
	nodes   []*node
	chosen  []int
	options [][]option
	// were are the offerings of these nodes before.
	were []int
	// known are the options of nodes with the list, where no limit matters.
	known map[*list][]option
	// load is how many replicas of each workload may come from a zone.
	load []map[string]int
}

// option is a node kept to one zone.
type option struct {
	zone     string
	offering int
	// dearer is by how much the price rises.
	dearer float64
}

// KeepToZones keeps spot nodes to zones until no spot pool can have more than half of a workload,
// as far as the budget in US dollars an hour pays for it. It reports whether it has kept any.
func (d *Dispersal) KeepToZones(budget float64) bool {
	z := &zoning{lists: d.newLists(), ledger: d.plannedLedger(), known: map[*list][]option{}}
	for _, n := range d.nodes {
		z.listed = append(z.listed, z.of(n))
	}
	z.before = slices.Clone(z.listed)
	crowded := z.crowded()
	if len(crowded) == 0 || !z.readNodes(crowded) {
		return false
	}
	z.choose()
	z.spend(budget)
	z.apply()
	if len(z.crowded()) >= len(crowded) {
		z.undo()
		return false
	}
	return true
}

// crowded are the workloads of which more than half may come from one spot pool.
func (z *zoning) crowded() []int {
	var crowded []int
	for i, most := range z.shared(z.listed) {
		if most > z.workloads[i].most {
			crowded = append(crowded, i)
		}
	}
	return crowded
}

// readNodes reads the nodes with replicas of the workloads that could be kept to zones. It reports
// whether there are two.
func (z *zoning) readNodes(crowded []int) bool {
	wanted := make([]bool, len(z.all()))
	for _, i := range crowded {
		for _, n := range z.workloads[i].nodes {
			wanted[n.index] = true
		}
	}
	z.load = make([]map[string]int, len(z.workloads))
	for i := range z.load {
		z.load[i] = map[string]int{}
		for pool, running := range z.workloads[i].running {
			z.load[i][pool.zone] += running
		}
	}
	for i, n := range z.all() {
		l := z.listed[i]
		if !l.spot {
			continue
		}
		var options []option
		if wanted[i] && !n.fixed && len(l.zones) > 1 {
			options = z.known[l]
			if options == nil || z.limited(n) {
				options = z.optionsOf(n, l)
				z.known[l] = options
			}
		}
		if len(options) > 1 {
			z.nodes, z.options, z.chosen = append(z.nodes, n), append(z.options, options), append(z.chosen, -1)
			z.were = append(z.were, n.Offering)
			continue
		}
		for _, zone := range l.zones {
			z.put(n, zone, 1)
		}
	}
	return len(z.nodes) > 1
}

// limited reports whether limits or stocks decide what the node may be.
func (z *zoning) limited(n *node) bool {
	return z.state.Offers.Limited.Has(n.Offering) || z.state.Offers.Stocked.Has(n.Offering)
}

// all are all new nodes.
func (z *zoning) all() []*node { return z.Dispersal.nodes }

// optionsOf are the zones to which the node may be kept, the cheapest first.
func (z *zoning) optionsOf(n *node, l *list) []option {
	var options []option
	for _, zone := range l.zones {
		kept := *n.PlannedNode
		kept.Within = z.within(zone)
		set := z.state.AlternativesFor(&kept).Clone()
		z.ledger.KeepReplacing(set, n.Offering)
		if set.Empty() {
			continue
		}
		kept.Offering = set.First()
		in := z.of(&node{PlannedNode: &kept})
		if !in.spot || in.types < min(l.types, plan.MinimumSpotTypes) || in.offerings[0] != kept.Offering {
			continue
		}
		options = append(options, option{zone: zone, offering: kept.Offering, dearer: z.price(in) - z.price(l)})
	}
	slices.SortStableFunc(options, func(a, b option) int { return compareFloats(a.dearer, b.dearer) })
	return options
}

func compareFloats(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// within are the offerings of the zones.
func (z *zoning) within(zones ...string) dense.Set {
	return z.state.Offers.Feasibilities.Allowing(scheduling.In(corev1.LabelTopologyZone, zones...))
}

// put counts the node's replicas in the zone, or with -1 takes them out.
func (z *zoning) put(n *node, zone string, times int) {
	for i := range n.held {
		if number := n.held[i].workload; number != none {
			z.load[number][zone] += times * len(n.held[i].units) * z.state.Demands[n.held[i].demand].PodsPerUnit()
		}
	}
}

// excess is by how many replicas the zone would have too many with the node's.
func (z *zoning) excess(n *node, zone string) int {
	excess := 0
	for i := range n.held {
		number := n.held[i].workload
		if number == none {
			continue
		}
		count := len(n.held[i].units) * z.state.Demands[n.held[i].demand].PodsPerUnit()
		excess += min(count, max(0, z.load[number][zone]+count-z.workloads[number].most))
	}
	return excess
}

// choose chooses a zone for each node: the one with the least excess, then the cheapest. Each
// further pass looks at each node again, since others have come to zones after it.
func (z *zoning) choose() {
	for pass := range zonePasses {
		changed := false
		for i, n := range z.nodes {
			if z.chosen[i] >= 0 {
				z.put(n, z.options[i][z.chosen[i]].zone, -1)
			}
			best, least := 0, -1
			for at, o := range z.options[i] {
				if excess := z.excess(n, o.zone); least < 0 || excess < least {
					best, least = at, excess
				}
			}
			changed = changed || best != z.chosen[i]
			z.chosen[i] = best
			z.put(n, z.options[i][best].zone, 1)
		}
		if pass > 0 && !changed {
			return
		}
	}
}

// spend gives up the dearest zones until the budget pays for the others.
func (z *zoning) spend(budget float64) {
	total := 0.0
	var dear []int
	for i := range z.nodes {
		if dearer := z.options[i][z.chosen[i]].dearer; dearer > 0 {
			total += dearer
			dear = append(dear, i)
		}
	}
	slices.SortStableFunc(dear, func(a, b int) int {
		return -compareFloats(z.options[a][z.chosen[a]].dearer, z.options[b][z.chosen[b]].dearer)
	})
	for _, i := range dear {
		if total <= budget {
			return
		}
		total -= z.options[i][z.chosen[i]].dearer
		z.put(z.nodes[i], z.options[i][z.chosen[i]].zone, -1)
		z.chosen[i] = 0
		z.put(z.nodes[i], z.options[i][0].zone, 1)
		total += z.options[i][0].dearer
	}
}

// apply keeps the nodes to their zones, and to further ones that bring no workload too many.
func (z *zoning) apply() {
	for i, n := range z.nodes {
		o := z.options[i][z.chosen[i]]
		zones := []string{o.zone}
		for _, other := range z.options[i] {
			if other.zone != o.zone && z.excess(n, other.zone) == 0 {
				zones = append(zones, other.zone)
				z.put(n, other.zone, 1)
			}
		}
		if !z.become(n, o.offering) {
			continue
		}
		n.Within = z.within(zones...)
		z.listed[n.index] = z.of(n)
	}
}

// become gives the node the offering, if limits allow that beside the other nodes.
func (z *zoning) become(n *node, j int) bool {
	z.ledger.Take(n.Offering, -1)
	allowed := z.ledger.Allows(j)
	if allowed {
		z.state.ChangeOffering(n.PlannedNode, j)
	}
	z.ledger.Take(n.Offering, 1)
	return allowed
}

// undo lets the nodes be in any zone again.
func (z *zoning) undo() {
	for i, n := range z.nodes {
		z.ledger.Take(n.Offering, -1)
		z.ledger.Take(z.were[i], 1)
		n.Within = nil
		z.state.ChangeOffering(n.PlannedNode, z.were[i])
		z.listed[n.index] = z.before[n.index]
	}
}
