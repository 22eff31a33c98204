package planner

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Constraints between pods over anything but hosts (zones, capacity types, labels of the user's own) are met by deciding the domain of each pod before nodes are
// packed: a shape is divided into demands, each with the domain that it is bound to among what it requires. A pod that such a constraint of another one
// counts is bound as well, so that all counts are exact. Constraints over hosts are met while nodes are filled.

// part is some of a shape's pods with the requirements of the domain that they are bound to.
type part struct {
	units [][]*corev1.Pod
	// alternatives are the shape's, narrowed to the domain.
	alternatives []scheduling.Requirements
	// reach are the alternatives that spreads are measured over, where the part has been bound to some of these by its own spreads or as the first of a group:
	// Kubernetes counts the domains that a pod could have been in. Nil are the alternatives themselves.
	reach []scheduling.Requirements
	// follows are peers of which a node must have one already.
	follows []*peers
	// sets remember how alternatives are narrowed; nil if that is not worth it.
	sets *columnSets
}

// divide makes the demands of the shapes.
func (p *topology) divide(shapes []*shape) {
	b := p.board
	clear(b.concerned)
	for _, s := range shapes {
		add := func(peers *peers, key string, spread, preferred bool) {
			if key == corev1.LabelHostname {
				return
			}
			until := math.MaxInt
			if preferred {
				until = p.state.round
			}
			text := key + " " + peers.text()
			if b.terms[text] == nil {
				b.terms[text] = &boardTerm{peers: peers, key: key}
			}
			b.terms[text].spread = b.terms[text].spread || spread
			b.terms[text].until = max(b.terms[text].until, until)
			if !slices.Contains(b.keys, key) {
				b.keys = append(b.keys, key)
				slices.Sort(b.keys)
			}
		}
		for i := range s.topology.spread {
			add(s.topology.spread[i].peers, s.topology.spread[i].key, true, s.topology.spread[i].preferred)
		}
		for i := range s.topology.affinity {
			add(s.topology.affinity[i].peers, s.topology.affinity[i].key, false, s.topology.affinity[i].preferred)
		}
		for i := range s.topology.anti {
			add(s.topology.anti[i].peers, s.topology.anti[i].key, false, s.topology.anti[i].preferred)
		}
	}
	var waiting []*shape
	for _, s := range shapes {
		if s.problem != "" {
			p.state.leave(s, s.pods, s.problem)
			continue
		}
		waiting = append(waiting, s)
	}
	// Those that demand nothing of others come first, then those that look for others, then those that keep their distance: so each finds counted what it is measured by.
	// Of those with equal demands the ones that their volumes tie to few domains choose first.
	if p.work.podClasses.any || slices.ContainsFunc(waiting, func(s *shape) bool { return s.tied }) {
		slices.SortStableFunc(waiting, func(a, b *shape) int {
			return cmp.Or(cmp.Compare(rank(a), rank(b)), -compareBools(a.tied, b.tied))
		})
	}
	for len(waiting) > 0 {
		var deferred []*shape
		for _, s := range waiting {
			if p.lacksPeers(s) {
				deferred = append(deferred, s)
				continue
			}
			p.divideShape(s)
		}
		if len(deferred) == len(waiting) {
			for _, s := range deferred {
				p.divideShape(s)
			}
			break
		}
		waiting = deferred
	}
}

// rank orders shapes by what they demand of other pods.
func rank(s *shape) int {
	switch {
	case len(s.topology.spread)+len(s.topology.anti)+len(s.topology.affinity) == 0:
		return 0
	case len(s.topology.spread)+len(s.topology.anti) == 0:
		return 1
	}
	return 2
}

// lacksPeers reports whether a term of affinity finds nobody yet, and the shape's own pods are no peers either.
func (p *topology) lacksPeers(s *shape) bool {
	for i := range s.topology.affinity {
		term := &s.topology.affinity[i]
		if term.key == corev1.LabelHostname || term.matchClass(p.work.podClasses, s.class) {
			continue
		}
		if !anyPositive(p.tally(term.peers, term.key)) {
			return true
		}
	}
	return false
}

func anyPositive(counts map[string]int) bool {
	for _, n := range counts {
		if n > 0 {
			return true
		}
	}
	return false
}

func (p *topology) divideShape(s *shape) {
	whole := part{alternatives: s.alternatives, units: p.state.units(s.pods), sets: p.offers.sets}
	if !p.work.podClasses.any {
		p.demand(s, &whole)
		return
	}
	parts := p.bind(s, whole)
	for i := range parts {
		if len(parts[i].units) > 0 {
			p.demand(s, &parts[i])
		}
	}
}

// demand adds the demand of a part.
func (p *topology) demand(s *shape, part *part) *demand {
	d := p.state.newDemand()
	*d = demand{
		shape: s, index: len(p.state.demands), units: part.units, waiting: len(part.units), need: s.need, alternatives: part.alternatives,
		follows: part.follows, round: p.state.round, podsEach: len(part.units[0]),
	}
	if n := len(part.units[0]); n > 1 {
		d.need = make(vector, len(s.need))
		d.need.add(s.need, int64(n))
	}
	for _, term := range s.topology.spread {
		if term.key == corev1.LabelHostname {
			d.hosts.spread = append(d.hosts.spread, term)
		}
	}
	for _, term := range s.topology.anti {
		if term.key == corev1.LabelHostname {
			d.hosts.anti = append(d.hosts.anti, term)
		}
	}
	d.bound = p.boundBy(part.alternatives)
	p.state.demands = append(p.state.demands, d)
	p.recount(d, len(part.units)*len(part.units[0]))
	return d
}

// boundBy are the domains that the alternatives bind pods to, of the topology keys in use. Demands with the same alternatives share them.
func (p *topology) boundBy(alternatives []scheduling.Requirements) map[string]string {
	if len(p.board.keys) == 0 {
		return nil
	}
	by := bindingAt{alternatives: at(alternatives), keys: len(p.board.keys)}
	if bound, ok := p.board.bound[by]; ok {
		return bound
	}
	var bound map[string]string
	for _, key := range p.board.keys {
		if value, ok := singleValue(alternatives, key); ok {
			if bound == nil {
				bound = map[string]string{}
			}
			bound[key] = value
		}
	}
	p.board.bound[by] = bound
	return bound
}

// bind divides one shape, and leaves those of its pods unplaced that no domain may take.
func (p *topology) bind(s *shape, whole part) []part {
	whole, away := p.keepAway(s, whole)
	if len(whole.alternatives) == 0 {
		p.state.leave(s, s.pods, fmt.Sprintf("required anti-affinity, its own or that of other pods, leaves it %s, and its node selector, affinity and volumes ask for just what is left out", away))
		return nil
	}
	parts := []part{whole}
	for i := range s.topology.affinity {
		parts = each(parts, func(part part) []part { return p.gather(s, part, &s.topology.affinity[i]) })
	}
	for i := range s.topology.anti {
		if term := &s.topology.anti[i]; term.key != corev1.LabelHostname && term.matchClass(p.work.podClasses, s.class) {
			alone := spreadTerm{peers: term.peers, field: term.field, key: term.key, maxSkew: 1, minDomains: math.MaxInt}
			parts = each(parts, func(part part) []part { return p.spread(s, part, &alone) })
		}
	}
	for i := range s.topology.spread {
		if term := &s.topology.spread[i]; term.key != corev1.LabelHostname {
			parts = each(parts, func(part part) []part { return p.spread(s, part, term) })
		}
	}
	for _, key := range p.board.keys {
		parts = each(parts, func(part part) []part { return p.settleOn(s, part, key) })
	}
	return parts
}

// keepAway narrows a part to the domains that no anti-affinity keeps it from, and says which those are.
func (p *topology) keepAway(s *shape, whole part) (part, scheduling.Requirements) {
	forbidden := map[string][]string{}
	for _, r := range p.board.repelled {
		if r.count > 0 && r.matchClass(p.work.podClasses, s.class) {
			forbidden[r.key] = append(forbidden[r.key], r.value)
		}
	}
	for i := range s.topology.anti {
		term := &s.topology.anti[i]
		if term.key == corev1.LabelHostname {
			continue
		}
		for value, n := range p.tally(term.peers, term.key) {
			if n > 0 {
				forbidden[term.key] = append(forbidden[term.key], value)
			}
		}
	}
	if len(forbidden) == 0 {
		return whole, nil
	}
	away := scheduling.Requirements{}
	for _, key := range sortedKeys(forbidden) {
		r := scheduling.NotIn(key, forbidden[key]...)
		away.Add(r)
		whole = whole.narrow(r)
	}
	return whole, away
}

func each(parts []part, divide func(part) []part) []part {
	if len(parts) == 1 && len(parts[0].units) > 0 {
		return divide(parts[0])
	}
	var result []part
	for _, part := range parts {
		if len(part.units) > 0 {
			result = append(result, divide(part)...)
		}
	}
	return result
}

// narrow is the part with a further requirement.
func (w part) narrow(r scheduling.Requirement) part {
	w.alternatives = w.sets.narrow(w.alternatives, r)
	if w.reach != nil {
		w.reach = w.sets.narrow(w.reach, r)
	}
	return w
}

// bindTo is the part bound to a domain out of several that it may be in.
func (w part) bindTo(key, value string) part {
	if w.reach == nil {
		w.reach = w.alternatives
	}
	w.alternatives = w.sets.narrow(w.alternatives, scheduling.In(key, value))
	return w
}

// gather binds a part to the domain of the pods that it has to be with.
func (p *topology) gather(s *shape, whole part, term *affinityTerm) []part {
	counts := p.tally(term.peers, term.key)
	if term.key == corev1.LabelHostname {
		if anyPositive(counts) || !term.matchClass(p.work.podClasses, s.class) || p.hasPlanned(term.peers) {
			whole.follows = append(slices.Clone(whole.follows), term.peers)
			return []part{whole}
		}
		return p.together(s, whole, term)
	}
	var values []string
	for value, n := range counts {
		if n > 0 {
			values = append(values, value)
		}
	}
	if len(values) > 0 {
		narrowed := whole.narrow(scheduling.In(term.key, values...))
		if len(narrowed.alternatives) == 0 {
			p.state.leave(s, flatten(whole.units), fmt.Sprintf("%s wants pods that run in %s, which its node selector, affinity and volumes leave out", term.field, scheduling.In(term.key, values...)))
			return nil
		}
		return []part{narrowed}
	}
	if !term.matchClass(p.work.podClasses, s.class) {
		p.state.leave(s, flatten(whole.units), fmt.Sprintf("%s wants pods %s in the same %q, and none is running there yet: start one, or correct the term's labelSelector and namespaces", term.field, term.selector, term.key))
		return nil
	}
	domains := p.domains(s, whole, term.key)
	if len(domains) == 0 {
		return p.nowhere(s, whole, term.field, term.key)
	}
	return []part{whole.bindTo(term.key, cheapestFor(domains, len(whole.units)))}
}

// hasPlanned reports whether any pod of the peers is among the demands.
func (p *topology) hasPlanned(peers *peers) bool {
	return slices.ContainsFunc(p.state.demands, func(d *demand) bool { return d.counted > 0 && peers.matchClass(p.work.podClasses, d.shape.class) })
}

// nowhere deals with a part that no domain of the key takes. Mostly that has a reason of another kind, which explaining the part without its domain will
// find; if not, the pools do not say which domains there are.
func (p *topology) nowhere(s *shape, whole part, field, key string) []part {
	known := whole.narrow(scheduling.Exists(key))
	if columns, _ := p.offers.columnsFor(s, known.alternatives, s.need); columns.empty() && len(known.alternatives) > 0 {
		return []part{known}
	}
	p.state.leave(s, flatten(whole.units), fmt.Sprintf("%s is over %q, and no node pool lists the values that it can have: add a requirement with operator In to one", field, key))
	return nil
}

// together makes one unit of the pods, which have to share a node; those that no node has room for are left.
func (p *topology) together(s *shape, whole part, term *affinityTerm) []part {
	pods := flatten(whole.units)
	largest := int64(0)
	feasible, _ := p.offers.columnsFor(s, whole.alternatives, s.need)
	for j := range feasible.all() {
		largest = max(largest, p.offers.configs[p.offers.columns[j].config].free.room(s.need, int64(len(pods))))
	}
	for _, e := range p.state.existing {
		if n := e.free.room(s.need, int64(len(pods))); n > largest && p.state.accepts(e, s, whole.alternatives) {
			largest = n
		}
	}
	if portsClash(s.ports, s.ports) || slices.ContainsFunc(s.topology.anti, func(t affinityTerm) bool {
		return t.key == corev1.LabelHostname && t.matchClass(p.work.podClasses, s.class)
	}) {
		largest = min(largest, 1)
	}
	for i := range s.topology.spread {
		if t := &s.topology.spread[i]; t.key == corev1.LabelHostname && t.matchClass(p.work.podClasses, s.class) {
			largest = min(largest, int64(t.maxSkew))
		}
	}
	if largest > 0 && largest < int64(len(pods)) {
		p.state.leave(s, pods[largest:], fmt.Sprintf("%s wants its pods on one node, and the largest has room for %d of the %d that wait", term.field, largest, len(pods)))
		pods = pods[:largest]
	}
	whole.units = [][]*corev1.Pod{pods}
	return []part{whole}
}

// levelPriceFactor is how much dearer than the cheapest a domain may be to which pods are sent only to keep others' spreads level.
const levelPriceFactor = 1.1

// settleOn binds a part to a domain of the key if a constraint of any shape over that key counts its pods: spreads want them level, the others in few places.
func (p *topology) settleOn(s *shape, whole part, key string) []part {
	if _, ok := singleValue(whole.alternatives, key); ok {
		return []part{whole}
	}
	counted, levelled := p.concern(s, key)
	owns := slices.ContainsFunc(s.topology.anti, func(t affinityTerm) bool { return t.key == key })
	if counted == nil && !owns {
		return []part{whole}
	}
	var parts []part
	if !owns {
		// On nodes without the label nothing counts them.
		without := whole.narrow(scheduling.DoesNotExist(key))
		if len(without.alternatives) > 0 && p.offers.hasColumnFor(s, without.alternatives, s.need) {
			return []part{without}
		}
		if n := p.roomWithout(s, without, key); n > 0 {
			n = min(n, len(whole.units))
			without.units, whole.units = whole.units[:n], whole.units[n:]
			parts = append(parts, without)
		}
		if len(whole.units) == 0 {
			return parts
		}
	}
	domains := p.domains(s, whole, key)
	if len(domains) == 0 {
		if unheard := p.unheardOf(whole, key); len(unheard) > 0 {
			return append(parts, unheard[0])
		}
		// Where no node has the label, nothing can be too near.
		if without := whole.narrow(scheduling.DoesNotExist(key)); owns && len(without.alternatives) > 0 {
			if columns, _ := p.offers.columnsFor(s, without.alternatives, s.need); !columns.empty() {
				return append(parts, without)
			}
		}
		return append(parts, whole)
	}
	if levelled == nil {
		return append(parts, whole.narrow(scheduling.In(key, cheapestFor(domains, len(whole.units)))))
	}
	// Level, as far as that costs little.
	cheapest := math.Inf(1)
	for _, domain := range domains {
		cheapest = min(cheapest, domain.price)
	}
	domains = slices.DeleteFunc(domains, func(d domain) bool { return d.room <= 0 && d.price > cheapest*levelPriceFactor })
	return append(parts, p.level(whole, key, domains, maps.Clone(p.tally(levelled.peers, key)), func(string, int) bool { return true }, nil)...)
}

// unheardOf are domains that no node has yet, of labels whose values a pool leaves open.
func (p *topology) unheardOf(w part, key string) []part {
	var result []part
	for _, pool := range p.offers.pools {
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

// withPlanned adds the domains that planned nodes have by what other pods decided of a label which their pool leaves open.
func (p *topology) withPlanned(domains []domain, w part, key string) []domain {
	for _, value := range p.state.plannedValues(key) {
		if !slices.ContainsFunc(domains, func(d domain) bool { return d.value == value }) && len(narrow(w.alternatives, scheduling.In(key, value))) > 0 {
			domains = append(domains, domain{value: value, price: math.Inf(1)})
		}
	}
	return domains
}
