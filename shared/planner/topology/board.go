package topology

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/workload"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// counter counts the peers in each domain of a key: the running ones and those that have a place planned.
type counter struct {
	key    string
	peers  *workload.PodSelector
	counts map[string]int
	// filter leaves out the pods on nodes that do not count for a spread; nil if all do.
	filter *nodeFilter
	// Uncertain are, by demand, how many pods count of those that may come to be on nodes that count and on others.
	Uncertain map[int]int
}

// repulsion keeps the peers out of a domain: a pod that is there, or will be, has required anti-affinity to them.
type repulsion struct {
	*workload.PodSelector
	key, value string
	count      int
}

// Topology counts pods in topology domains.
type Topology struct {
	work   *workload.Workload
	offers *offering.Index
	state  *placement.State
	Counts *counts
}

func New(work *workload.Workload, offers *offering.Index, state *placement.State) *Topology {
	p := &Topology{work: work, offers: offers, state: state}
	p.readCounts()
	return p
}

// counts is what is known of topology domains.
type counts struct {
	counters map[string]*counter
	// repulsions are the terms of anti-affinity of running and planned pods, by key, peers and domain.
	repulsions map[string]*repulsion
	// Terms are the constraints over anything but hosts of all shapes divided so far, by key and peers; one over spreads says that a spread is among them.
	Terms map[string]*countedTerm
	// running and nodes remember what problem.running and problem.nodesOf gave.
	running map[string]map[string][]int
	nodes   map[string][]domainNodes
	// filters are the nodeFilters by name.
	filters map[string]*nodeFilter
	// Uncertain are the tallies that have doubtful demands. As long as nodes are not packed yet these count for all their pods, after that where they are: placed says so.
	Uncertain []*counter
	placed    bool
	// Places are the places of each demand's units, while unskew looks at them.
	Places [][]Place
	// fixed remembers fixedDomains.
	fixed map[string][]string
	// bound remembers boundBy.
	bound map[bindingAt]map[string]string
	// measured are the spreads of shapes as remeasure last measured them.
	measured map[*workload.Group][]*Skew
	// concerned remembers what problem.concern gave since the terms last changed.
	concerned map[concernKey]concernTerms
	// keys are the topology keys in use but for the host name.
	keys []string
}

// concernKey is what problem.concern was asked.
type concernKey struct {
	key   string
	class int
}

type concernTerms struct{ counted, levelled *countedTerm }

type countedTerm struct {
	*workload.PodSelector
	Key    string
	spread bool
	// Until is the last round that it binds: of preferences the round of those that have them.
	Until int
}

type domainNodes struct {
	value string
	nodes []*placement.ExistingNode
}

func (p *Topology) readCounts() {
	p.Counts = &counts{
		counters: map[string]*counter{}, repulsions: map[string]*repulsion{}, Terms: map[string]*countedTerm{},
		fixed: map[string][]string{}, bound: map[bindingAt]map[string]string{}, measured: map[*workload.Group][]*Skew{}, running: map[string]map[string][]int{}, nodes: map[string][]domainNodes{},
		concerned: map[concernKey]concernTerms{}, filters: map[string]*nodeFilter{},
	}
	if !p.work.Classes.Any {
		return
	}
	for i := range p.work.Snapshot.Nodes {
		node := &p.work.Snapshot.Nodes[i]
		for j := range node.Pods {
			pod := &node.Pods[j]
			if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil || !p.work.CountsInDomain(pod) {
				continue
			}
			terms, err := p.work.ReadAffinity(pod, pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, nil, "spec.affinity.podAntiAffinity")
			if err != nil {
				continue // the scheduler could not have bound it by a term that cannot be read
			}
			for _, term := range terms {
				if value, ok := node.Domain(term.Key); ok && term.Key != corev1.LabelHostname {
					p.Counts.repel(term.PodSelector, term.Key, value, 1)
				}
			}
		}
	}
}

func (b *counts) repel(peers *workload.PodSelector, key, value string, count int) {
	text := key + " " + value + " " + peers.Key()
	r := b.repulsions[text]
	if r == nil {
		r = &repulsion{PodSelector: peers, key: key, value: value}
		b.repulsions[text] = r
	}
	r.count += count
}

// CountsOf gives the counts of the peers in the key's domains, kept up to date from then on.
func (p *Topology) CountsOf(peers *workload.PodSelector, key string) map[string]int {
	return p.countsOnNodes(peers, key, nil)
}

// countsOnNodes is tally for the nodes of a filter; nil are all.
func (p *Topology) countsOnNodes(peers *workload.PodSelector, key string, filter *nodeFilter) map[string]int {
	text := key + " " + peers.Key()
	if filter != nil {
		text = filter.name + " " + text
	}
	if t, ok := p.Counts.counters[text]; ok {
		return t.counts
	}
	t := &counter{key: key, peers: peers, counts: p.runningPeers(peers, key, filter), filter: filter}
	p.Counts.counters[text] = t
	for _, d := range p.state.Demands {
		p.recordIn(t, d, d.Counted)
	}
	return t.counts
}

// runningPeers counts the peers that run in each of the key's domains.
func (p *Topology) runningPeers(peers *workload.PodSelector, key string, filter *nodeFilter) map[string]int {
	counts := map[string]int{}
	for value, classes := range p.running(key, filter) {
		for class, n := range classes {
			if n > 0 && peers.MatchesClass(p.work.Classes, class) {
				counts[value] += n
			}
		}
	}
	return counts
}

// running counts the pods of each class on the nodes of each of the key's domains, as far as the filter, nil for none, counts the nodes.
func (p *Topology) running(key string, filter *nodeFilter) map[string][]int {
	name := key
	if filter != nil {
		name = filter.name + " " + key
	}
	if known, ok := p.Counts.running[name]; ok {
		return known
	}
	result := map[string][]int{}
	for i := range p.work.Snapshot.Nodes {
		if len(p.work.ClassesOn[i]) == 0 {
			continue
		}
		value, ok := p.work.Snapshot.Nodes[i].Domain(key)
		if !ok || filter != nil && !filter.counts(&p.work.Snapshot.Nodes[i]) {
			continue
		}
		counts := result[value]
		if counts == nil {
			counts = make([]int, len(p.work.Classes.Samples))
			result[value] = counts
		}
		for _, class := range p.work.ClassesOn[i] {
			if class >= 0 {
				counts[class]++
			}
		}
	}
	p.Counts.running[name] = result
	return result
}

// nodesOf are the existing nodes by their domain of the key, in their order; those without one are left out.
func (p *Topology) nodesOf(key string) []domainNodes {
	if known, ok := p.Counts.nodes[key]; ok {
		return known
	}
	byValue := map[string][]*placement.ExistingNode{}
	for _, e := range p.state.Existing {
		if value, ok := e.Domain(key); ok {
			byValue[value] = append(byValue[value], e)
		}
	}
	result := make([]domainNodes, 0, len(byValue))
	for _, value := range dense.SortedKeys(byValue) {
		result = append(result, domainNodes{value, byValue[value]})
	}
	p.Counts.nodes[key] = result
	return result
}

// Record changes how many of the demand's pods count in its domains.
func (p *Topology) Record(d *placement.Demand, pods int) {
	delta := pods - d.Counted
	if delta == 0 {
		for _, t := range p.Counts.Uncertain {
			if _, ok := t.Uncertain[d.Index]; ok {
				p.recordPlaced(t, d)
			}
		}
		return
	}
	d.Counted = pods
	for _, t := range p.Counts.counters {
		p.recordIn(t, d, delta)
	}
	for i := range d.Group.Topology.AntiAffinity {
		term := &d.Group.Topology.AntiAffinity[i]
		if value := d.Domains[term.Key]; value != "" && !term.Preferred {
			p.Counts.repel(term.PodSelector, term.Key, value, delta)
		}
	}
}

// askedDomains gives the values of a label that the part itself lists and that new nodes get if it asks for them, with the price of the cheapest such node.
func (p *Topology) askedDomains(s *workload.Group, part Part, key string, each func(value string, price float64)) {
	if scheduling.IsWellKnown(key) || offering.IsOfferingKey(key) {
		return
	}
	for _, alternative := range part.Alternatives.List() {
		asked, ok := alternative[key]
		values, listed := asked.Values()
		if !ok || !listed {
			continue
		}
		for _, value := range values {
			columns, _ := p.offers.OfferingsFor(s, part.Alternatives.Narrow(scheduling.In(key, value)), s.Need)
			if first := columns.First(); first >= 0 {
				each(value, p.offers.Offerings[first].Price)
			}
		}
	}
}

// recordIn changes by delta how many of the demand's pods count in one tally.
func (p *Topology) recordIn(t *counter, d *placement.Demand, delta int) {
	value := d.Domains[t.key]
	if value == "" || !t.peers.MatchesClass(p.work.Classes, d.Group.Class) || t.filter != nil && !t.filter.admits(d) {
		return
	}
	if t.filter == nil || t.filter.placement == d.Group.NodeTermsKey {
		t.counts[value] += delta
		return
	}
	if t.Uncertain == nil {
		t.Uncertain = map[int]int{}
		p.Counts.Uncertain = append(p.Counts.Uncertain, t)
	}
	p.recordPlaced(t, d)
}

// recordPlaced counts a doubtful demand in a tally anew.
func (p *Topology) recordPlaced(t *counter, d *placement.Demand) {
	pods := d.Counted
	if p.Counts.placed || d.Round < p.state.Round {
		pods = 0
		p.eachPlace(d, func(at Place, units int) {
			if at.Planned != nil && t.filter.countsPlanned(p.state, at.Planned) || at.Existing != nil && t.filter.counts(at.Existing.Node) {
				pods += units * d.PodsPerUnit()
			}
		})
	}
	t.counts[d.Domains[t.key]] += pods - t.Uncertain[d.Index]
	t.Uncertain[d.Index] = pods
}

// RecordPlaced counts the doubtful demands by where they are now.
func (p *Topology) RecordPlaced() {
	p.Counts.placed = true
	for _, t := range p.Counts.Uncertain {
		for index := range t.Uncertain {
			p.recordPlaced(t, p.state.Demands[index])
		}
	}
}

// roomWithoutLabel is how many of a part's units the existing nodes have places for that do not have the label; no more than the part has.
func (p *Topology) roomWithoutLabel(s *workload.Group, part Part, key string) int {
	if part.Alternatives == nil {
		return 0
	}
	room := 0
	for _, e := range p.state.Existing {
		if room >= len(part.Units) {
			break
		}
		if _, ok := e.Domain(key); ok || e.Nominated != nil {
			continue
		}
		if n := int(e.Free.Room(s.Need, int64(len(part.Units)))); n > 0 && p.state.Accepts(e, s, part.Alternatives) {
			room += n
		}
	}
	return min(room, len(part.Units))
}

// concerning is the first constraint over the key that counts the shape's pods, and the first of those that is a spread; each may be nil.
func (p *Topology) concerning(s *workload.Group, key string) (counted, levelled *countedTerm) {
	at := concernKey{key: key, class: s.Class}
	if known, ok := p.Counts.concerned[at]; ok {
		return known.counted, known.levelled
	}
	for _, text := range dense.SortedKeys(p.Counts.Terms) {
		if term := p.Counts.Terms[text]; term.Key == key && term.Until >= p.state.Round && term.MatchesClass(p.work.Classes, s.Class) {
			counted = term
			if term.spread && levelled == nil {
				levelled = term
			}
		}
	}
	p.Counts.concerned[at] = concernTerms{counted, levelled}
	return counted, levelled
}

// Domain is a value of a topology key that a part can be bound to.
type Domain struct {
	Value string
	// room is how many units the existing nodes there have places for.
	room int64
	// price is that of the cheapest new node there, infinite without one.
	price float64
	// invented says that nothing names the value, and a new node would get it only since it needs some value.
	invented bool
}

// cheapestFor is the value of the domain where nodes for what existing ones have no room for cost least, by the cheapest new node there; the first of several.
func cheapestFor(domains []Domain, units int) string {
	best, least := 0, math.Inf(1)
	for i := range domains {
		cost := 0.0
		if further := int64(units) - domains[i].room; further > 0 {
			cost = float64(further) * domains[i].price
		}
		if cost < least {
			best, least = i, cost
		}
	}
	return domains[best].Value
}

// Domains are those of the key that can take a unit of the part: best first, which is where nodes have room already, then where the cheapest new one is.
func (p *Topology) Domains(s *workload.Group, part Part, key string) []Domain {
	byValue := map[string]*Domain{}
	var memory []Domain
	at := func(value string) *Domain {
		if byValue[value] == nil {
			if len(memory) == 0 {
				memory = make([]Domain, 4)
			}
			memory[0] = Domain{Value: value, price: math.Inf(1)}
			byValue[value], memory = &memory[0], memory[1:]
		}
		return byValue[value]
	}
	enough := int64(len(part.Units))
	for _, in := range p.nodesOf(key) {
		var alternatives *workload.Alternatives
		for _, e := range in.nodes {
			n := e.Free.Room(s.Need, enough)
			if e.Nominated != nil {
				// The rest of its room is meant for others.
				n = min(n, int64(e.Nominated[s.First]))
			}
			if n == 0 {
				continue
			}
			if alternatives == nil {
				if alternatives = p.offers.Feasibilities.Narrow(part.Alternatives, p.offers.Feasibilities.In(key, in.value)); alternatives == nil {
					break
				}
			}
			if p.state.Accepts(e, s, alternatives) {
				if at(in.value).room += n; at(in.value).room >= enough {
					break
				}
			}
		}
	}
	feasible, _ := p.offers.OfferingsFor(s, part.Alternatives, s.Need)
	for _, d := range p.offers.Feasibilities.Domains(key) {
		first := d.Offerings.FirstOf(feasible)
		if first < 0 {
			continue
		}
		narrowed := p.offers.Feasibilities.Narrow(part.Alternatives, p.offers.Feasibilities.In(key, d.Value))
		if narrowed == nil {
			continue
		}
		if part.Alternatives.Len() > 1 {
			if columns, _ := p.offers.OfferingsFor(s, narrowed, s.Need); columns.Empty() {
				continue
			}
		}
		// Columns are numbered by price.
		in := at(d.Value)
		in.invented = !d.Listed && in.room == 0
		in.price = p.offers.Offerings[first].Price
	}
	p.askedDomains(s, part, key, func(value string, price float64) {
		if byValue[value] == nil || byValue[value].invented {
			at(value).price, at(value).invented = price, false
		}
	})
	result := make([]Domain, 0, len(byValue))
	for _, domain := range byValue {
		result = append(result, *domain)
	}
	slices.SortFunc(result, func(a, b Domain) int {
		return cmp.Or(-cmp.Compare(a.room, b.room), cmp.Compare(a.price, b.price), strings.Compare(a.Value, b.Value))
	})
	return result
}

// bindingAt is what problem.boundBy was asked; topology keys only become more.
type bindingAt struct {
	alternatives *workload.Alternatives
	keys         int
}
