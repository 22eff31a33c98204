package topology

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/resource"
	"github.com/whittle-dev/whittle/shared/planner/workload"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Constraints between pods over anything but hosts (zones, capacity types, labels of the user's own) are met by deciding the domain of each pod before nodes are
// packed: a shape is divided into demands, each with the domain that it is bound to among what it requires. A pod that such a constraint of another one
// counts is bound as well, so that all counts are exact. Constraints over hosts are met while nodes are filled.

// Part is some of a shape's pods with the requirements of the domain that they are bound to.
type Part struct {
	Units [][]*corev1.Pod
	// Alternatives are the shape's, narrowed to the domain.
	Alternatives *workload.Alternatives
	// Reach are the alternatives that spreads are measured over, where the part has been bound to some of these by its own spreads or as the first of a group:
	// Kubernetes counts the domains that a pod could have been in. Nil are the alternatives themselves.
	Reach *workload.Alternatives
	// Follows are peers of which a node must have one already.
	Follows []*workload.PodSelector
	// sets remember how alternatives are narrowed; nil if that is not worth it.
	sets *offering.Feasibilities
}

// Divide makes the demands of the shapes.
func (p *Topology) Divide(shapes []*workload.Group) {
	p.Counts.placed = false
	b := p.Counts
	clear(b.concerned)
	for _, s := range shapes {
		add := func(peers *workload.PodSelector, key string, spread, preferred bool) {
			if key == corev1.LabelHostname {
				return
			}
			until := math.MaxInt
			if preferred {
				until = p.state.Round
			}
			text := key + " " + peers.Key()
			if b.Terms[text] == nil {
				b.Terms[text] = &countedTerm{PodSelector: peers, Key: key}
			}
			b.Terms[text].spread = b.Terms[text].spread || spread
			b.Terms[text].Until = max(b.Terms[text].Until, until)
			if !slices.Contains(b.keys, key) {
				b.keys = append(b.keys, key)
				slices.Sort(b.keys)
			}
		}
		for i := range s.Topology.Spread {
			add(s.Topology.Spread[i].PodSelector, s.Topology.Spread[i].Key, true, s.Topology.Spread[i].Preferred)
		}
		for i := range s.Topology.Affinity {
			add(s.Topology.Affinity[i].PodSelector, s.Topology.Affinity[i].Key, false, s.Topology.Affinity[i].Preferred)
		}
		for i := range s.Topology.AntiAffinity {
			add(s.Topology.AntiAffinity[i].PodSelector, s.Topology.AntiAffinity[i].Key, false, s.Topology.AntiAffinity[i].Preferred)
		}
	}
	var waiting []*workload.Group
	for _, s := range shapes {
		if s.Problem != "" {
			p.state.Leave(s, s.Pods, s.Problem)
			continue
		}
		waiting = append(waiting, s)
	}
	// Those that demand nothing of others come first, then those that look for others, then those that keep their distance: so each finds counted what it is measured by.
	// Of those with equal demands the ones that their volumes tie to few domains choose first.
	if p.work.Classes.Any || slices.ContainsFunc(waiting, func(s *workload.Group) bool { return s.VolumeBound }) {
		slices.SortStableFunc(waiting, func(a, b *workload.Group) int {
			return cmp.Or(cmp.Compare(rank(a), rank(b)), -placement.CompareBools(a.VolumeBound, b.VolumeBound))
		})
	}
	for len(waiting) > 0 {
		var deferred []*workload.Group
		for _, s := range waiting {
			if p.lacksAffinityPods(s) {
				deferred = append(deferred, s)
				continue
			}
			p.divideGroup(s)
		}
		if len(deferred) == len(waiting) {
			for _, s := range deferred {
				p.divideGroup(s)
			}
			break
		}
		waiting = deferred
	}
	p.state.FinishDemands()
}

// rank orders shapes by what they demand of other pods.
func rank(s *workload.Group) int {
	switch {
	case len(s.Topology.Spread)+len(s.Topology.AntiAffinity)+len(s.Topology.Affinity) == 0:
		return 0
	case len(s.Topology.Spread)+len(s.Topology.AntiAffinity) == 0:
		return 1
	}
	return 2
}

// lacksAffinityPods reports whether a term of affinity finds nobody yet, and the shape's own pods are no peers either.
func (p *Topology) lacksAffinityPods(s *workload.Group) bool {
	for i := range s.Topology.Affinity {
		term := &s.Topology.Affinity[i]
		if term.Key == corev1.LabelHostname || term.MatchesClass(p.work.Classes, s.Class) {
			continue
		}
		if !AnyPositive(p.CountsOf(term.PodSelector, term.Key)) {
			return true
		}
	}
	return false
}

func AnyPositive(counts map[string]int) bool {
	for _, n := range counts {
		if n > 0 {
			return true
		}
	}
	return false
}

func (p *Topology) divideGroup(s *workload.Group) {
	whole := Part{Alternatives: s.Alternatives, Units: p.state.Units(s.Pods), sets: p.offers.Feasibilities}
	if !p.work.Classes.Any {
		p.AddDemand(s, &whole)
		return
	}
	parts := p.bind(s, whole)
	for i := range parts {
		if len(parts[i].Units) > 0 {
			p.AddDemand(s, &parts[i])
		}
	}
}

// AddDemand adds the demand of a part.
func (p *Topology) AddDemand(s *workload.Group, part *Part) *placement.Demand {
	d := p.state.NewDemand()
	*d = placement.Demand{
		Group: s, Index: len(p.state.Demands), Units: part.Units, Waiting: len(part.Units), Need: s.Need, Alternatives: part.Alternatives,
		Follows: part.Follows, Round: p.state.Round, PodsEach: len(part.Units[0]),
	}
	if n := len(part.Units[0]); n > 1 {
		d.Need = make(resource.Vector, len(s.Need))
		d.Need.Add(s.Need, int64(n))
	}
	for _, term := range s.Topology.Spread {
		if term.Key == corev1.LabelHostname {
			d.Hosts.Spread = append(d.Hosts.Spread, term)
		}
	}
	for _, term := range s.Topology.AntiAffinity {
		if term.Key == corev1.LabelHostname {
			d.Hosts.AntiAffinity = append(d.Hosts.AntiAffinity, term)
		}
	}
	d.Domains = p.boundBy(part.Alternatives)
	p.state.Demands = append(p.state.Demands, d)
	p.Record(d, len(part.Units)*len(part.Units[0]))
	return d
}

// boundBy are the domains that the alternatives bind pods to, of the topology keys in use. Demands with the same alternatives share them.
func (p *Topology) boundBy(alternatives *workload.Alternatives) map[string]string {
	if len(p.Counts.keys) == 0 {
		return nil
	}
	by := bindingAt{alternatives: alternatives, keys: len(p.Counts.keys)}
	if bound, ok := p.Counts.bound[by]; ok {
		return bound
	}
	var bound map[string]string
	for _, key := range p.Counts.keys {
		if value, ok := alternatives.SingleValue(key); ok {
			if bound == nil {
				bound = map[string]string{}
			}
			bound[key] = value
		}
	}
	p.Counts.bound[by] = bound
	return bound
}

// bind divides one shape, and leaves those of its pods unplaced that no domain may take.
func (p *Topology) bind(s *workload.Group, whole Part) []Part {
	whole, away := p.KeepAway(s, whole)
	if whole.Alternatives == nil {
		p.state.Leave(s, s.Pods, fmt.Sprintf("required anti-affinity, its own or that of other pods, leaves it %s, and its node selector, affinity and volumes ask for just what is left out", away))
		return nil
	}
	parts := []Part{whole}
	for i := range s.Topology.Affinity {
		parts = each(parts, func(part Part) []Part { return p.followAffinity(s, part, &s.Topology.Affinity[i]) })
	}
	for i := range s.Topology.AntiAffinity {
		if term := &s.Topology.AntiAffinity[i]; term.Key != corev1.LabelHostname && term.MatchesClass(p.work.Classes, s.Class) {
			alone := workload.SpreadTerm{PodSelector: term.PodSelector, Field: term.Field, Key: term.Key, MaxSkew: 1, MinDomains: math.MaxInt}
			parts = each(parts, func(part Part) []Part { return p.spread(s, part, &alone) })
		}
	}
	for i := range s.Topology.Spread {
		if term := &s.Topology.Spread[i]; term.Key != corev1.LabelHostname {
			parts = each(parts, func(part Part) []Part { return p.spread(s, part, term) })
		}
	}
	for _, key := range p.Counts.keys {
		parts = each(parts, func(part Part) []Part { return p.bindForOthers(s, part, key) })
	}
	return parts
}

// KeepAway narrows a part to the domains that no anti-affinity keeps it from, and says which those are.
func (p *Topology) KeepAway(s *workload.Group, whole Part) (Part, scheduling.Requirements) {
	forbidden := map[string][]string{}
	for _, r := range p.Counts.repulsions {
		if r.count > 0 && r.MatchesClass(p.work.Classes, s.Class) {
			forbidden[r.key] = append(forbidden[r.key], r.value)
		}
	}
	for i := range s.Topology.AntiAffinity {
		term := &s.Topology.AntiAffinity[i]
		if term.Key == corev1.LabelHostname {
			continue
		}
		for value, n := range p.CountsOf(term.PodSelector, term.Key) {
			if n > 0 {
				forbidden[term.Key] = append(forbidden[term.Key], value)
			}
		}
	}
	if len(forbidden) == 0 {
		return whole, nil
	}
	away := scheduling.Requirements{}
	for _, key := range dense.SortedKeys(forbidden) {
		r := scheduling.NotIn(key, forbidden[key]...)
		away.Add(r)
		whole = whole.Narrow(r)
	}
	return whole, away
}

func each(parts []Part, divide func(Part) []Part) []Part {
	if len(parts) == 1 && len(parts[0].Units) > 0 {
		return divide(parts[0])
	}
	var result []Part
	for _, part := range parts {
		if len(part.Units) > 0 {
			result = append(result, divide(part)...)
		}
	}
	return result
}

// Narrow is the part with a further requirement.
func (w Part) Narrow(r scheduling.Requirement) Part {
	w.Alternatives = w.sets.Narrow(w.Alternatives, r)
	if w.Reach != nil {
		w.Reach = w.sets.Narrow(w.Reach, r)
	}
	return w
}

// BindTo is the part bound to a domain out of several that it may be in.
func (w Part) BindTo(key, value string) Part {
	if w.Reach == nil {
		w.Reach = w.Alternatives
	}
	w.Alternatives = w.sets.Narrow(w.Alternatives, scheduling.In(key, value))
	return w
}

// followAffinity binds a part to the domain of the pods that it has to be with.
func (p *Topology) followAffinity(s *workload.Group, whole Part, term *workload.AffinityTerm) []Part {
	counts := p.CountsOf(term.PodSelector, term.Key)
	if term.Key == corev1.LabelHostname {
		if AnyPositive(counts) || !term.MatchesClass(p.work.Classes, s.Class) || p.HasPlanned(term.PodSelector) {
			whole.Follows = append(slices.Clone(whole.Follows), term.PodSelector)
			return []Part{whole}
		}
		return p.shareNode(s, whole, term)
	}
	var values []string
	for value, n := range counts {
		if n > 0 {
			values = append(values, value)
		}
	}
	if len(values) > 0 {
		narrowed := whole.Narrow(scheduling.In(term.Key, values...))
		if narrowed.Alternatives == nil {
			p.state.Leave(s, placement.Flatten(whole.Units), fmt.Sprintf("%s wants pods that run in %s, which its node selector, affinity and volumes leave out", term.Field, scheduling.In(term.Key, values...)))
			return nil
		}
		return []Part{narrowed}
	}
	if !term.MatchesClass(p.work.Classes, s.Class) {
		p.state.Leave(s, placement.Flatten(whole.Units), fmt.Sprintf("%s wants pods %s in the same %q, and none is running there yet: start one, or correct the term's labelSelector and namespaces", term.Field, term.Selector, term.Key))
		return nil
	}
	domains := p.Domains(s, whole, term.Key)
	if len(domains) == 0 {
		return p.noDomain(s, whole, term.Field, term.Key)
	}
	return []Part{whole.BindTo(term.Key, cheapestFor(domains, len(whole.Units)))}
}

// HasPlanned reports whether any pod of the peers is among the demands.
func (p *Topology) HasPlanned(peers *workload.PodSelector) bool {
	return slices.ContainsFunc(p.state.Demands, func(d *placement.Demand) bool {
		return d.Counted > 0 && peers.MatchesClass(p.work.Classes, d.Group.Class)
	})
}

// noDomain deals with a part that no domain of the key takes. Mostly that has a reason of another kind, which explaining the part without its domain will
// find; if not, the pools do not say which domains there are.
func (p *Topology) noDomain(s *workload.Group, whole Part, field, key string) []Part {
	known := whole.Narrow(scheduling.Exists(key))
	if columns, _ := p.offers.OfferingsFor(s, known.Alternatives, s.Need); columns.Empty() && known.Alternatives != nil {
		return []Part{known}
	}
	p.state.Leave(s, placement.Flatten(whole.Units), fmt.Sprintf("%s is over %q, and no node pool lists the values that it can have: add a requirement with operator In to one", field, key))
	return nil
}

// shareNode makes one unit of the pods, which have to share a node; those that no node has room for are left.
func (p *Topology) shareNode(s *workload.Group, whole Part, term *workload.AffinityTerm) []Part {
	pods := placement.Flatten(whole.Units)
	largest := int64(0)
	feasible, _ := p.offers.OfferingsFor(s, whole.Alternatives, s.Need)
	for j := range feasible.All() {
		largest = max(largest, p.offers.PoolTypes[p.offers.Offerings[j].PoolType].Free.Room(s.Need, int64(len(pods))))
	}
	for _, e := range p.state.Existing {
		if n := e.Free.Room(s.Need, int64(len(pods))); n > largest && p.state.Accepts(e, s, whole.Alternatives) {
			largest = n
		}
	}
	if workload.PortsClash(s.Ports, s.Ports) || slices.ContainsFunc(s.Topology.AntiAffinity, func(t workload.AffinityTerm) bool {
		return t.Key == corev1.LabelHostname && t.MatchesClass(p.work.Classes, s.Class)
	}) {
		largest = min(largest, 1)
	}
	for i := range s.Topology.Spread {
		if t := &s.Topology.Spread[i]; t.Key == corev1.LabelHostname && t.MatchesClass(p.work.Classes, s.Class) {
			largest = min(largest, int64(t.MaxSkew))
		}
	}
	if largest > 0 && largest < int64(len(pods)) {
		p.state.Leave(s, pods[largest:], fmt.Sprintf("%s wants its pods on one node, and the largest has room for %d of the %d that wait", term.Field, largest, len(pods)))
		pods = pods[:largest]
	}
	whole.Units = [][]*corev1.Pod{pods}
	return []Part{whole}
}

// levelPriceFactor is how much dearer than the cheapest a domain may be to which pods are sent only to keep others' spreads level.
const levelPriceFactor = 1.1

// bindForOthers binds a part to a domain of the key if a constraint of any shape over that key counts its pods: spreads want them level, the others in few places.
func (p *Topology) bindForOthers(s *workload.Group, whole Part, key string) []Part {
	if _, ok := whole.Alternatives.SingleValue(key); ok {
		return []Part{whole}
	}
	counted, levelled := p.concerning(s, key)
	owns := slices.ContainsFunc(s.Topology.AntiAffinity, func(t workload.AffinityTerm) bool { return t.Key == key })
	if counted == nil && !owns {
		return []Part{whole}
	}
	var parts []Part
	if !owns {
		// On nodes without the label nothing counts them.
		without := whole.Narrow(scheduling.DoesNotExist(key))
		if without.Alternatives != nil && p.offers.HasOfferingFor(s, without.Alternatives, s.Need) {
			return []Part{without}
		}
		if n := p.roomWithoutLabel(s, without, key); n > 0 {
			n = min(n, len(whole.Units))
			without.Units, whole.Units = whole.Units[:n], whole.Units[n:]
			parts = append(parts, without)
		}
		if len(whole.Units) == 0 {
			return parts
		}
	}
	domains := p.Domains(s, whole, key)
	if len(domains) == 0 {
		if unheard := p.NewDomains(whole, key); len(unheard) > 0 {
			return append(parts, unheard[0])
		}
		// Where no node has the label, nothing can be too near.
		if without := whole.Narrow(scheduling.DoesNotExist(key)); owns && without.Alternatives != nil {
			if columns, _ := p.offers.OfferingsFor(s, without.Alternatives, s.Need); !columns.Empty() {
				return append(parts, without)
			}
		}
		return append(parts, whole)
	}
	if levelled == nil {
		return append(parts, whole.Narrow(scheduling.In(key, cheapestFor(domains, len(whole.Units)))))
	}
	// Level, as far as that costs little.
	cheapest := math.Inf(1)
	for _, domain := range domains {
		cheapest = min(cheapest, domain.price)
	}
	domains = slices.DeleteFunc(domains, func(d Domain) bool { return d.room <= 0 && d.price > cheapest*levelPriceFactor })
	return append(parts, p.level(whole, key, domains, maps.Clone(p.CountsOf(levelled.PodSelector, key)), func(string, int) bool { return true }, nil)...)
}

// NewDomains are domains that no node has yet, of labels whose values a pool leaves open.
func (p *Topology) NewDomains(w Part, key string) []Part {
	var result []Part
	for _, pool := range p.offers.Pools {
		r, ok := pool.Requirements[key]
		if !ok || !pool.IsOpen(key) {
			continue
		}
		for _, alternative := range w.Alternatives.List() {
			have := r
			if asked, ok := alternative[key]; ok {
				have = have.Intersection(asked)
			}
			if _, listed := have.Values(); listed {
				continue
			}
			if value, ok := offering.AnyValue(have); ok {
				result = append(result, w.Narrow(scheduling.In(key, value)))
			}
		}
	}
	return result
}

// WithPlanned adds the domains that planned nodes have by what other pods decided of a label which their pool leaves open.
func (p *Topology) WithPlanned(domains []Domain, w Part, key string) []Domain {
	for _, value := range p.state.PlannedValues(key) {
		if !slices.ContainsFunc(domains, func(d Domain) bool { return d.Value == value }) && w.Alternatives.Narrow(scheduling.In(key, value)) != nil {
			domains = append(domains, Domain{Value: value, price: math.Inf(1)})
		}
	}
	return domains
}
