package planner

import (
	"cmp"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Binding demands to domains before nodes are packed is quick and cheap, and now and then wrong: a domain that was to get nodes gets none for a limit, a pod has to
// follow another one to its host. What is left is put right here, a unit at a time.

// refilled is a planned node with just these fills.
func (p *problem) refilled(column int, fills []fill) *node {
	n := p.newNode(column)
	for _, f := range fills {
		p.place(n, p.demands[f.demand], f.count)
	}
	return n
}

// restBudget bounds the work of placing single units: each costs about a look at all nodes and demands.
const restBudget = 4_000_000

// placeRest places single units of the shapes that still have pods waiting, wherever that is legal with all others where they are now.
func (p *problem) placeRest() {
	type rest struct {
		shape *shape
		units [][]*corev1.Pod
		take  func(int)
	}
	for _, d := range p.demands {
		if d.waiting > 0 && d.pods() > 1 {
			// No node has room for all of a unit: as many as there are places for, one after the other, are better than none.
			placed := len(d.units) - d.waiting
			p.leave(d.shape, flatten(d.units[placed:]), "its pods have to be on one node, and no node has room for all of them")
			d.units, d.waiting = d.units[:placed], 0
		}
	}
	budget := restBudget / (len(p.existing) + len(p.planned) + len(p.demands) + 100)
	for progress := true; progress && budget > 0; {
		progress = false
		var rests []rest
		for i := range p.left {
			l := &p.left[i]
			if l.shape.problem == "" {
				rests = append(rests, rest{l.shape, single(l.pods), func(n int) { l.pods = l.pods[n:] }})
			}
		}
		for _, d := range p.demands {
			if d.waiting > 0 {
				rests = append(rests, rest{d.shape, d.units[len(d.units)-d.waiting:], func(n int) {
					// The units taken leave the demand for one of their own.
					placed := len(d.units) - d.waiting
					d.units = slices.Delete(slices.Clone(d.units), placed, placed+n)
					d.waiting -= n
				}})
			}
		}
		for _, r := range rests {
			taken := 0
			for _, unit := range r.units {
				if budget--; budget <= 0 || !p.placeUnit(r.shape, unit) {
					break
				}
				taken++
			}
			if taken > 0 {
				r.take(taken)
				progress = true
			}
		}
		p.left = slices.DeleteFunc(p.left, func(l leftover) bool { return len(l.pods) == 0 })
	}
}

// placeUnit places one unit of a shape in the first legal place: on a node that exists, on one that is planned, on a new one.
func (p *problem) placeUnit(s *shape, unit []*corev1.Pod) bool {
	for _, choice := range p.choices(s, unit) {
		d := p.demand(s, &choice)
		d.slack = p.hostSlack(s)
		p.readDemands()
		if p.placeDemand(d) {
			p.board.replan()
			p.recount(d, p.placedPods(d))
			return true
		}
		p.recount(d, 0)
		for _, t := range p.board.doubtful {
			delete(t.doubtful, d.index)
		}
		p.demands = p.demands[:d.index]
		p.demandsRead = -1 // another demand will have the index
	}
	return false
}

func (p *problem) placeDemand(d *demand) bool {
	for _, e := range p.existing {
		if p.fillNode(e, d, 1) > 0 {
			return true
		}
	}
	for _, n := range p.planned {
		if p.followed(n, d) && p.roomFor(n, d, 1) > 0 {
			p.put(n, d, 1)
			return true
		}
	}
	return len(d.follows) == 0 && p.openFor(d) != nil
}

// followed reports whether a planned node has one of each of the peers that the demand has to follow.
func (p *problem) followed(n *node, d *demand) bool {
	for _, peers := range d.follows {
		if !slices.ContainsFunc(n.fills, func(f fill) bool { return peers.matchClass(p.podClasses, p.demands[f.demand].shape.class) }) {
			return false
		}
	}
	return true
}

// hostSlack is how many of the peers of a spread over hosts each node has that counts: Kubernetes measures the skew from the least of them.
func (p *problem) hostSlack(s *shape) int {
	slack := math.MaxInt
	for i := range s.topology.spread {
		term := &s.topology.spread[i]
		if term.key != corev1.LabelHostname {
			continue
		}
		least, hosts := math.MaxInt, 0
		filter := p.filterOf(s, term)
		for _, e := range p.existing {
			if !term.ignoreAffinity && !slices.ContainsFunc(s.strict, e.mayMeet) || term.honorTaints && !scheduling.ToleratesAll(e.taints, s.tolerations) {
				continue
			}
			hosts++
			least = min(least, p.count(e, term.peers))
		}
		for i := range p.snapshot.Nodes {
			// Until a node is gone the scheduler measures by it.
			if node := &p.snapshot.Nodes[i]; node.Node != nil && node.ClosedToPods() && (filter == nil || filter.counts(node)) {
				hosts++
				least = min(least, p.runningOn(i, term.peers))
			}
		}
		for _, n := range p.planned {
			if filter.countsPlanned(p, n) {
				hosts++
				least = min(least, p.firstOn(n, term.peers))
			}
		}
		if hosts < term.minDomains || hosts == 0 {
			return 0
		}
		slack = min(slack, least)
	}
	if slack == math.MaxInt {
		return 0
	}
	return slack
}

// firstOn is how many of the peers are planned for the node that need not wait for others to be bound elsewhere: those others might wait for them.
func (p *problem) firstOn(n *node, wanted *peers) int {
	count := 0
	for _, f := range n.fills {
		d := p.demands[f.demand]
		waits := slices.ContainsFunc(d.shape.topology.spread, func(t spreadTerm) bool { return t.key != corev1.LabelHostname && !t.preferred })
		if !waits && wanted.matchClass(p.podClasses, d.shape.class) {
			count += f.count * d.pods()
		}
	}
	return count
}

// peersOn is how many of the peers are planned for the node.
func (p *problem) peersOn(n *node, wanted *peers) int {
	count := 0
	for _, f := range n.fills {
		if d := p.demands[f.demand]; wanted.matchClass(p.podClasses, d.shape.class) {
			count += f.count * d.pods()
		}
	}
	return count
}

// maximumChoices bounds how many domains are tried for one unit.
const maximumChoices = 64

// choices are the domains that one unit may be bound to, best first, each as a part.
func (p *problem) choices(s *shape, unit []*corev1.Pod) []part {
	whole := part{alternatives: s.alternatives, units: [][]*corev1.Pod{unit}}
	if p.podClasses.any {
		if whole, _ = p.keepAway(s, whole); len(whole.alternatives) == 0 {
			return nil
		}
	}
	parts := []part{whole}
	if p.sets.chooses(s, whole.alternatives) {
		// The alternative that costs least may have no place left.
		for i := range whole.alternatives {
			one := whole
			one.alternatives, one.reach = whole.alternatives[i:i+1], whole.alternatives
			parts = append(parts, one)
		}
	}
	if !p.podClasses.any {
		return parts
	}
	divide := func(each func(part) []part) {
		var next []part
		for _, w := range parts {
			next = append(next, each(w)...)
		}
		parts = next[:min(len(next), maximumChoices)]
	}
	keys := map[string]bool{}
	for i := range s.topology.affinity {
		term := &s.topology.affinity[i]
		divide(func(w part) []part { return p.gatherChoices(s, w, term) })
		keys[term.key] = true
	}
	for i := range s.topology.spread {
		term := &s.topology.spread[i]
		if term.key == corev1.LabelHostname {
			continue
		}
		keys[term.key] = true
		divide(func(w part) []part {
			m := p.skewOf(s, w, term)
			least := m.least()
			m.domains = p.withPlanned(m.domains, w, term.key)
			self := 0
			if term.matchClass(p.podClasses, s.class) {
				self = len(unit)
			}
			slices.SortStableFunc(m.domains, func(a, b domain) int { return cmp.Compare(m.counts[a.value], m.counts[b.value]) })
			var result []part
			for _, domain := range m.domains {
				if m.counts[domain.value]+self-least <= term.maxSkew {
					result = append(result, w.bindTo(term.key, domain.value))
				}
			}
			return result
		})
	}
	own := maps.Clone(keys)
	for i := range s.topology.anti {
		keys[s.topology.anti[i].key] = true
	}
	for _, term := range p.board.terms {
		if term.until >= p.round && term.matchClass(p.podClasses, s.class) {
			keys[term.key] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if key == corev1.LabelHostname {
			continue
		}
		divide(func(w part) []part {
			if _, ok := singleValue(w.alternatives, key); ok {
				return []part{w}
			}
			var result []part
			for _, domain := range p.withPlanned(p.domains(s, w, key), w, key) {
				result = append(result, w.narrow(scheduling.In(key, domain.value)))
			}
			result = append(result, p.unheardOf(w, key)...)
			if !own[key] {
				// Anti-affinity, its own or others', and others' spreads count it nowhere on a node without the label.
				if without := w.narrow(scheduling.DoesNotExist(key)); len(without.alternatives) > 0 {
					result = append(result, without)
				}
			}
			if len(result) == 0 {
				// No node has the label, so there is nothing that could be violated.
				return []part{w}
			}
			return result
		})
	}
	return parts
}

// withPlanned adds the domains that planned nodes have by what other pods decided of a label which their pool leaves open.
func (p *problem) withPlanned(domains []domain, w part, key string) []domain {
	for _, value := range p.plannedValues(key) {
		if !slices.ContainsFunc(domains, func(d domain) bool { return d.value == value }) && len(narrow(w.alternatives, scheduling.In(key, value))) > 0 {
			domains = append(domains, domain{value: value, price: math.Inf(1)})
		}
	}
	return domains
}

// unheardOf are domains that no node has yet, of labels whose values a pool leaves open.
func (p *problem) unheardOf(w part, key string) []part {
	var result []part
	for _, pool := range p.pools {
		r, ok := pool.requirements[key]
		if !ok || !pool.isOpen(key) {
			continue
		}
		for _, alternative := range w.alternatives {
			have := r
			if asked, ok := alternative[key]; ok {
				have = have.Intersection(asked)
			}
			if _, listed := have.Values(); listed {
				continue
			}
			if value, ok := anyValue(have); ok {
				result = append(result, w.narrow(scheduling.In(key, value)))
			}
		}
	}
	return result
}

// gatherChoices are the domains of the pods that a unit has to be with.
func (p *problem) gatherChoices(s *shape, whole part, term *affinityTerm) []part {
	counts := p.tally(term.peers, term.key)
	if term.key == corev1.LabelHostname {
		if anyPositive(counts) || p.hasPlanned(term.peers) {
			whole.follows = append(slices.Clone(whole.follows), term.peers)
			return []part{whole}
		}
		if !term.matchClass(p.podClasses, s.class) {
			return nil
		}
		return []part{whole}
	}
	first := !anyPositive(counts) && term.matchClass(p.podClasses, s.class)
	var result []part
	for _, domain := range p.withPlanned(p.domains(s, whole, term.key), whole, term.key) {
		switch {
		case first:
			result = append(result, whole.bindTo(term.key, domain.value))
		case counts[domain.value] > 0:
			result = append(result, whole.narrow(scheduling.In(term.key, domain.value)))
		}
	}
	return result
}
