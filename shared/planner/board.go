package planner

import (
	"cmp"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// tally counts the peers in each domain of a key: the running ones and those that have a place planned.
type tally struct {
	key    string
	peers  *peers
	counts map[string]int
	// filter leaves out the pods on nodes that do not count for a spread; nil if all do.
	filter *nodeFilter
	// doubtful are, by demand, how many pods count of those that may come to be on nodes that count and on others.
	doubtful map[int]int
}

// repelled keeps the peers out of a domain: a pod that is there, or will be, has required anti-affinity to them.
type repelled struct {
	*peers
	key, value string
	count      int
}

// topology counts pods in topology domains.
type topology struct {
	work   *workload
	offers *offerings
	state  *placements
	board  *board
}

func newTopology(work *workload, offers *offerings, state *placements) *topology {
	p := &topology{work: work, offers: offers, state: state}
	p.readBoard()
	return p
}

// repairs mend what dividing got wrong.
type repairs struct {
	work     *workload
	offers   *offerings
	state    *placements
	topology *topology
}

// board is what is known of topology domains.
type board struct {
	tallies map[string]*tally
	// repelled are the terms of anti-affinity of running and planned pods, by key, peers and domain.
	repelled map[string]*repelled
	// terms are the constraints over anything but hosts of all shapes divided so far, by key and peers; one over spreads says that a spread is among them.
	terms map[string]*boardTerm
	// running and nodes remember what problem.running and problem.nodesOf gave.
	running map[string]map[string][]int
	nodes   map[string][]domainNodes
	// filters are the nodeFilters by name.
	filters map[string]*nodeFilter
	// doubtful are the tallies that have doubtful demands. As long as nodes are not packed yet these count for all their pods, after that where they are: placed says so.
	doubtful []*tally
	placed   bool
	// places are the places of each demand's units, while unskew looks at them.
	places [][]place
	// fixed remembers fixedDomains.
	fixed map[string][]string
	// bound remembers boundBy.
	bound map[bindingAt]map[string]string
	// measured are the spreads of shapes as remeasure last measured them.
	measured map[*shape][]*skew
	// concerned remembers what problem.concern gave since the terms last changed.
	concerned map[concern]concernTerms
	// keys are the topology keys in use but for the host name.
	keys []string
}

// concern is what problem.concern was asked.
type concern struct {
	key   string
	class int
}

type concernTerms struct{ counted, levelled *boardTerm }

type boardTerm struct {
	*peers
	key    string
	spread bool
	// until is the last round that it binds: of preferences the round of those that have them.
	until int
}

type domainNodes struct {
	value string
	nodes []*existing
}

func (p *topology) readBoard() {
	p.board = &board{
		tallies: map[string]*tally{}, repelled: map[string]*repelled{}, terms: map[string]*boardTerm{},
		fixed: map[string][]string{}, bound: map[bindingAt]map[string]string{}, measured: map[*shape][]*skew{}, running: map[string]map[string][]int{}, nodes: map[string][]domainNodes{},
		concerned: map[concern]concernTerms{}, filters: map[string]*nodeFilter{},
	}
	if !p.work.podClasses.any {
		return
	}
	for i := range p.work.snapshot.Nodes {
		node := &p.work.snapshot.Nodes[i]
		for j := range node.Pods {
			pod := &node.Pods[j]
			if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil || !p.work.counts(pod) {
				continue
			}
			terms, err := p.work.readAffinity(pod, pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, nil, "spec.affinity.podAntiAffinity")
			if err != nil {
				continue // the scheduler could not have bound it by a term that cannot be read
			}
			for _, term := range terms {
				if value, ok := node.Domain(term.key); ok && term.key != corev1.LabelHostname {
					p.board.repel(term.peers, term.key, value, 1)
				}
			}
		}
	}
}

func (b *board) repel(peers *peers, key, value string, count int) {
	text := key + " " + value + " " + peers.text()
	r := b.repelled[text]
	if r == nil {
		r = &repelled{peers: peers, key: key, value: value}
		b.repelled[text] = r
	}
	r.count += count
}

// tally gives the counts of the peers in the key's domains, kept up to date from then on.
func (p *topology) tally(peers *peers, key string) map[string]int { return p.filtered(peers, key, nil) }

// filtered is tally for the nodes of a filter; nil are all.
func (p *topology) filtered(peers *peers, key string, filter *nodeFilter) map[string]int {
	text := key + " " + peers.text()
	if filter != nil {
		text = filter.name + " " + text
	}
	if t, ok := p.board.tallies[text]; ok {
		return t.counts
	}
	t := &tally{key: key, peers: peers, counts: p.runningPeers(peers, key, filter), filter: filter}
	p.board.tallies[text] = t
	for _, d := range p.state.demands {
		p.recountIn(t, d, d.counted)
	}
	return t.counts
}

// runningPeers counts the peers that run in each of the key's domains.
func (p *topology) runningPeers(peers *peers, key string, filter *nodeFilter) map[string]int {
	counts := map[string]int{}
	for value, classes := range p.running(key, filter) {
		for class, n := range classes {
			if n > 0 && peers.matchClass(p.work.podClasses, class) {
				counts[value] += n
			}
		}
	}
	return counts
}

// running counts the pods of each class on the nodes of each of the key's domains, as far as the filter, nil for none, counts the nodes.
func (p *topology) running(key string, filter *nodeFilter) map[string][]int {
	name := key
	if filter != nil {
		name = filter.name + " " + key
	}
	if known, ok := p.board.running[name]; ok {
		return known
	}
	result := map[string][]int{}
	for i := range p.work.snapshot.Nodes {
		if len(p.work.classesOn[i]) == 0 {
			continue
		}
		value, ok := p.work.snapshot.Nodes[i].Domain(key)
		if !ok || filter != nil && !filter.counts(&p.work.snapshot.Nodes[i]) {
			continue
		}
		counts := result[value]
		if counts == nil {
			counts = make([]int, len(p.work.podClasses.sample))
			result[value] = counts
		}
		for _, class := range p.work.classesOn[i] {
			if class >= 0 {
				counts[class]++
			}
		}
	}
	p.board.running[name] = result
	return result
}

// nodesOf are the existing nodes by their domain of the key, in their order; those without one are left out.
func (p *topology) nodesOf(key string) []domainNodes {
	if known, ok := p.board.nodes[key]; ok {
		return known
	}
	byValue := map[string][]*existing{}
	for _, e := range p.state.existing {
		if value, ok := e.domain(key); ok {
			byValue[value] = append(byValue[value], e)
		}
	}
	result := make([]domainNodes, 0, len(byValue))
	for _, value := range sortedKeys(byValue) {
		result = append(result, domainNodes{value, byValue[value]})
	}
	p.board.nodes[key] = result
	return result
}

// recount changes how many of the demand's pods count in its domains.
func (p *topology) recount(d *demand, pods int) {
	delta := pods - d.counted
	if delta == 0 {
		for _, t := range p.board.doubtful {
			if _, ok := t.doubtful[d.index]; ok {
				p.settle(t, d)
			}
		}
		return
	}
	d.counted = pods
	for _, t := range p.board.tallies {
		p.recountIn(t, d, delta)
	}
	for i := range d.shape.topology.anti {
		term := &d.shape.topology.anti[i]
		if value := d.bound[term.key]; value != "" && !term.preferred {
			p.board.repel(term.peers, term.key, value, delta)
		}
	}
}

// askedDomains gives the values of a label that the part itself lists and that new nodes get if it asks for them, with the price of the cheapest such node.
func (p *topology) askedDomains(s *shape, part part, key string, each func(value string, price float64)) {
	if scheduling.IsWellKnown(key) || isOfferingKey(key) {
		return
	}
	for _, alternative := range part.alternatives {
		asked, ok := alternative[key]
		values, listed := asked.Values()
		if !ok || !listed {
			continue
		}
		for _, value := range values {
			columns, _ := p.offers.columnsFor(s, narrow(part.alternatives, scheduling.In(key, value)), s.need)
			if first := columns.first(); first >= 0 {
				each(value, p.offers.columns[first].price)
			}
		}
	}
}

// recountIn changes by delta how many of the demand's pods count in one tally.
func (p *topology) recountIn(t *tally, d *demand, delta int) {
	value := d.bound[t.key]
	if value == "" || !t.peers.matchClass(p.work.podClasses, d.shape.class) || t.filter != nil && !t.filter.admits(d) {
		return
	}
	if t.filter == nil || t.filter.placement == d.shape.placement {
		t.counts[value] += delta
		return
	}
	if t.doubtful == nil {
		t.doubtful = map[int]int{}
		p.board.doubtful = append(p.board.doubtful, t)
	}
	p.settle(t, d)
}

// settle counts a doubtful demand in a tally anew.
func (p *topology) settle(t *tally, d *demand) {
	pods := d.counted
	if p.board.placed || d.round < p.state.round {
		pods = 0
		p.eachPlace(d, func(at place, units int) {
			if at.planned != nil && t.filter.countsPlanned(p.state, at.planned) || at.existing != nil && t.filter.counts(at.existing.node) {
				pods += units * d.pods()
			}
		})
	}
	t.counts[d.bound[t.key]] += pods - t.doubtful[d.index]
	t.doubtful[d.index] = pods
}

// settleAll counts the doubtful demands by where they are now.
func (p *topology) settleAll() {
	p.board.placed = true
	for _, t := range p.board.doubtful {
		for index := range t.doubtful {
			p.settle(t, p.state.demands[index])
		}
	}
}

// roomWithout is how many of a part's units the existing nodes have places for that do not have the label; no more than the part has.
func (p *topology) roomWithout(s *shape, part part, key string) int {
	if len(part.alternatives) == 0 {
		return 0
	}
	room := 0
	for _, e := range p.state.existing {
		if room >= len(part.units) {
			break
		}
		if _, ok := e.domain(key); ok || e.nominated != nil {
			continue
		}
		if n := int(e.free.room(s.need, int64(len(part.units)))); n > 0 && p.state.accepts(e, s, part.alternatives) {
			room += n
		}
	}
	return min(room, len(part.units))
}

// concern is the first constraint over the key that counts the shape's pods, and the first of those that is a spread; each may be nil.
func (p *topology) concern(s *shape, key string) (counted, levelled *boardTerm) {
	at := concern{key: key, class: s.class}
	if known, ok := p.board.concerned[at]; ok {
		return known.counted, known.levelled
	}
	for _, text := range sortedKeys(p.board.terms) {
		if term := p.board.terms[text]; term.key == key && term.until >= p.state.round && term.matchClass(p.work.podClasses, s.class) {
			counted = term
			if term.spread && levelled == nil {
				levelled = term
			}
		}
	}
	p.board.concerned[at] = concernTerms{counted, levelled}
	return counted, levelled
}

// domain is a value of a topology key that a part can be bound to.
type domain struct {
	value string
	// room is how many units the existing nodes there have places for.
	room int64
	// price is that of the cheapest new node there, infinite without one.
	price float64
	// invented says that nothing names the value, and a new node would get it only since it needs some value.
	invented bool
}

// cheapestFor is the value of the domain where nodes for what existing ones have no room for cost least, by the cheapest new node there; the first of several.
func cheapestFor(domains []domain, units int) string {
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
	return domains[best].value
}

// domains are those of the key that can take a unit of the part: best first, which is where nodes have room already, then where the cheapest new one is.
func (p *topology) domains(s *shape, part part, key string) []domain {
	byValue := map[string]*domain{}
	var memory []domain
	at := func(value string) *domain {
		if byValue[value] == nil {
			if len(memory) == 0 {
				memory = make([]domain, 4)
			}
			memory[0] = domain{value: value, price: math.Inf(1)}
			byValue[value], memory = &memory[0], memory[1:]
		}
		return byValue[value]
	}
	enough := int64(len(part.units))
	for _, in := range p.nodesOf(key) {
		var alternatives []scheduling.Requirements
		for _, e := range in.nodes {
			n := e.free.room(s.need, enough)
			if e.nominated != nil {
				// The rest of its room is meant for others.
				n = min(n, int64(e.nominated[s.first]))
			}
			if n == 0 {
				continue
			}
			if alternatives == nil {
				if alternatives = p.offers.sets.narrow(part.alternatives, p.offers.sets.only(key, in.value)); len(alternatives) == 0 {
					break
				}
			}
			if p.state.accepts(e, s, alternatives) {
				if at(in.value).room += n; at(in.value).room >= enough {
					break
				}
			}
		}
	}
	feasible, _ := p.offers.columnsFor(s, part.alternatives, s.need)
	for _, d := range p.offers.sets.domainsOf(key) {
		first := d.columns.firstOf(feasible)
		if first < 0 {
			continue
		}
		narrowed := p.offers.sets.narrow(part.alternatives, p.offers.sets.only(key, d.value))
		if len(narrowed) == 0 {
			continue
		}
		if len(part.alternatives) > 1 {
			if columns, _ := p.offers.columnsFor(s, narrowed, s.need); columns.empty() {
				continue
			}
		}
		// Columns are numbered by price.
		in := at(d.value)
		in.invented = !d.listed && in.room == 0
		in.price = p.offers.columns[first].price
	}
	p.askedDomains(s, part, key, func(value string, price float64) {
		if byValue[value] == nil || byValue[value].invented {
			at(value).price, at(value).invented = price, false
		}
	})
	result := make([]domain, 0, len(byValue))
	for _, domain := range byValue {
		result = append(result, *domain)
	}
	slices.SortFunc(result, func(a, b domain) int {
		return cmp.Or(-cmp.Compare(a.room, b.room), cmp.Compare(a.price, b.price), strings.Compare(a.value, b.value))
	})
	return result
}

// bindingAt is what problem.boundBy was asked; topology keys only become more.
type bindingAt struct {
	alternatives alternativesAt
	keys         int
}
