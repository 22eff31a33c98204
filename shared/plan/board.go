package plan

import (
	"cmp"
	"fmt"
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
}

// nodeFilter are the nodes that count for the spreads of shapes which ask for the same nodes: see nodeAffinityPolicy and nodeTaintsPolicy.
type nodeFilter struct {
	name string
	// strict are the requirements of which a node has to meet one; nil if any node does.
	strict []scheduling.Requirements
	// tolerations are those by which a node has to be tolerated, if honorTaints.
	tolerations []corev1.Toleration
	honorTaints bool
	// keys are those that a node must have, since the shapes have several constraints: Kubernetes passes over nodes that lack one of them.
	keys []string
	// placement is that of the shapes, admitted what admits found by placement.
	placement string
	admitted  map[string]bool
}

// filterOf are the nodes that count for a spread of the shape's; nil for all.
func (p *problem) filterOf(s *shape, term *spreadTerm) *nodeFilter {
	f := &nodeFilter{honorTaints: term.honorTaints, tolerations: s.tolerations, placement: s.placement}
	if !term.ignoreAffinity && (len(s.strict) != 1 || len(s.strict[0]) > 0) {
		f.strict = s.strict
	}
	for i := range s.topology.spread {
		if other := &s.topology.spread[i]; !other.preferred && !term.preferred && other.key != term.key && other.key != corev1.LabelHostname {
			f.keys = append(f.keys, other.key)
		}
	}
	if f.strict == nil && !f.honorTaints && len(f.keys) == 0 {
		return nil
	}
	slices.Sort(f.keys)
	f.name = fmt.Sprint(term.ignoreAffinity, term.honorTaints, f.keys, s.placement)
	if known, ok := p.board.filters[f.name]; ok {
		return known
	}
	f.admitted = map[string]bool{}
	p.board.filters[f.name] = f
	return f
}

// counts reports whether pods on the node count.
func (f *nodeFilter) counts(node *Node) bool {
	for _, key := range f.keys {
		if _, ok := nodeDomain(node, key); !ok {
			return false
		}
	}
	var labels scheduling.Requirements
	var taints []corev1.Taint
	if node.Node != nil {
		labels, taints = scheduling.FromLabels(node.Node.Labels), node.Node.Spec.Taints
	}
	if node.NodeClaim != nil {
		if labels == nil {
			labels, taints = scheduling.Requirements{}, node.NodeClaim.Spec.Taints
		}
		for key, value := range node.NodeClaim.Labels {
			if _, ok := labels[scheduling.NormalizeKey(key)]; !ok {
				labels.Add(scheduling.In(key, value))
			}
		}
	}
	if f.honorTaints && !scheduling.ToleratesAll(taints, f.tolerations) {
		return false
	}
	return f.strict == nil || slices.ContainsFunc(f.strict, func(a scheduling.Requirements) bool { return labels.IsCompatible(a, scheduling.UndefinedIsAbsent) })
}

// admits reports whether the demand's pods may come to be on nodes that count.
func (f *nodeFilter) admits(d *demand) bool {
	if f.strict == nil || d.shape.placement == f.placement {
		return true
	}
	if known, ok := f.admitted[d.shape.placement]; ok {
		return known
	}
	admitted := len(combined(d.shape.strict, f.strict)) > 0
	f.admitted[d.shape.placement] = admitted
	return admitted
}

// repelled keeps the peers out of a domain: a pod that is there, or will be, has required anti-affinity to them.
type repelled struct {
	*peers
	key, value string
	count      int
}

// board is what is known of topology domains.
type board struct {
	tallies map[string]*tally
	// repelled are the terms of anti-affinity of running and planned pods, by key, peers and domain.
	repelled map[string]*repelled
	// terms are the constraints over anything but hosts of all shapes divided so far, by key and peers; one over spreads says that a spread is among them.
	terms map[string]*boardTerm
	// moving are the pods that wait, by UID: where they run now they do not count.
	moving map[string]bool
	// running and nodes remember what problem.running and problem.nodesOf gave.
	running map[string]map[string][]int
	nodes   map[string][]domainNodes
	// filters are the nodeFilters by name.
	filters map[string]*nodeFilter
	// planned remembers plannedValues as long as the planned nodes stay as they are.
	planned map[string][]string
	// fixed remembers fixedDomains.
	fixed map[string][]string
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

func (p *problem) readBoard() {
	p.board = &board{
		tallies: map[string]*tally{}, repelled: map[string]*repelled{}, terms: map[string]*boardTerm{}, moving: map[string]bool{},
		fixed: map[string][]string{}, running: map[string]map[string][]int{}, nodes: map[string][]domainNodes{},
		concerned: map[concern]concernTerms{}, filters: map[string]*nodeFilter{}, planned: map[string][]string{},
	}
	if !p.podClasses.any {
		return
	}
	for i := range p.snapshot.Pods {
		p.board.moving[string(p.snapshot.Pods[i].UID)] = true
	}
	for i := range p.snapshot.Nodes {
		node := &p.snapshot.Nodes[i]
		for j := range node.Pods {
			pod := &node.Pods[j]
			if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil || !p.counts(pod) {
				continue
			}
			terms, err := p.readAffinity(pod, pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, nil, "spec.affinity.podAntiAffinity")
			if err != nil {
				continue // the scheduler could not have bound it by a term that cannot be read
			}
			for _, term := range terms {
				if value, ok := nodeDomain(node, term.key); ok && term.key != corev1.LabelHostname {
					p.board.repel(term.peers, term.key, value, 1)
				}
			}
		}
	}
}

// counts reports whether a pod on a node counts in its topology domain: it is there to stay.
func (p *problem) counts(pod *corev1.Pod) bool {
	return !scheduling.IsTerminal(pod) && pod.DeletionTimestamp == nil && !p.board.moving[string(pod.UID)]
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

// nodeDomain is the value that a node has of a topology key.
func nodeDomain(node *Node, key string) (string, bool) {
	if node.Node == nil {
		if node.NodeClaim != nil {
			value, ok := node.NodeClaim.Labels[key]
			return value, ok
		}
		return "", false
	}
	value, ok := node.Node.Labels[key]
	if !ok && node.unregistered() {
		value, ok = node.NodeClaim.Labels[key]
	}
	if !ok && key == corev1.LabelHostname {
		return node.Node.Name, true
	}
	return value, ok
}

// tally gives the counts of the peers in the key's domains, kept up to date from then on.
func (p *problem) tally(peers *peers, key string) map[string]int { return p.filtered(peers, key, nil) }

// filtered is tally for the nodes of a filter; nil are all.
func (p *problem) filtered(peers *peers, key string, filter *nodeFilter) map[string]int {
	text := key + " " + peers.text()
	if filter != nil {
		text = filter.name + " " + text
	}
	if t, ok := p.board.tallies[text]; ok {
		return t.counts
	}
	t := &tally{key: key, peers: peers, counts: map[string]int{}, filter: filter}
	p.board.tallies[text] = t
	for value, classes := range p.running(key, filter) {
		for class, n := range classes {
			if n > 0 && peers.matchClass(p.podClasses, class) {
				t.counts[value] += n
			}
		}
	}
	for _, d := range p.demands {
		if value := d.bound[key]; value != "" && peers.matchClass(p.podClasses, d.shape.class) && (filter == nil || filter.admits(d)) {
			t.counts[value] += d.counted
		}
	}
	return t.counts
}

// running counts the pods of each class on the nodes of each of the key's domains, as far as the filter, nil for none, counts the nodes.
func (p *problem) running(key string, filter *nodeFilter) map[string][]int {
	name := key
	if filter != nil {
		name = filter.name + " " + key
	}
	if known, ok := p.board.running[name]; ok {
		return known
	}
	result := map[string][]int{}
	for i := range p.snapshot.Nodes {
		if len(p.classesOn[i]) == 0 {
			continue
		}
		value, ok := nodeDomain(&p.snapshot.Nodes[i], key)
		if !ok || filter != nil && !filter.counts(&p.snapshot.Nodes[i]) {
			continue
		}
		counts := result[value]
		if counts == nil {
			counts = make([]int, len(p.podClasses.sample))
			result[value] = counts
		}
		for _, class := range p.classesOn[i] {
			if class >= 0 {
				counts[class]++
			}
		}
	}
	p.board.running[name] = result
	return result
}

// nodesOf are the existing nodes by their domain of the key, in their order; those without one are left out.
func (p *problem) nodesOf(key string) []domainNodes {
	if known, ok := p.board.nodes[key]; ok {
		return known
	}
	byValue := map[string][]*existing{}
	for _, e := range p.existing {
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
func (p *problem) recount(d *demand, pods int) {
	delta := pods - d.counted
	if delta == 0 {
		return
	}
	d.counted = pods
	for key, value := range d.bound {
		for _, t := range p.board.tallies {
			if t.key == key && t.peers.matchClass(p.podClasses, d.shape.class) && (t.filter == nil || t.filter.admits(d)) {
				t.counts[value] += delta
			}
		}
	}
	for i := range d.shape.topology.anti {
		term := &d.shape.topology.anti[i]
		if value := d.bound[term.key]; value != "" && !term.preferred {
			p.board.repel(term.peers, term.key, value, delta)
		}
	}
}

// roomWithout is how many of a part's units the existing nodes have places for that do not have the label; no more than the part has.
func (p *problem) roomWithout(s *shape, part part, key string) int {
	if len(part.alternatives) == 0 {
		return 0
	}
	room := 0
	for _, e := range p.existing {
		if room >= len(part.units) {
			break
		}
		if _, ok := e.domain(key); ok || e.nominated != nil {
			continue
		}
		if n := int(e.free.room(s.need, int64(len(part.units)))); n > 0 && p.accepts(e, s, part.alternatives) {
			room += n
		}
	}
	return min(room, len(part.units))
}

// concern is the first constraint over the key that counts the shape's pods, and the first of those that is a spread; each may be nil.
func (p *problem) concern(s *shape, key string) (counted, levelled *boardTerm) {
	at := concern{key: key, class: s.class}
	if known, ok := p.board.concerned[at]; ok {
		return known.counted, known.levelled
	}
	for _, text := range sortedKeys(p.board.terms) {
		if term := p.board.terms[text]; term.key == key && term.until >= p.round && term.matchClass(p.podClasses, s.class) {
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
}

// domains are those of the key that can take a unit of the part: best first, which is where nodes have room already, then where the cheapest new one is.
func (p *problem) domains(s *shape, part part, key string) []domain {
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
				if alternatives = p.sets.narrow(part.alternatives, p.sets.only(key, in.value)); len(alternatives) == 0 {
					break
				}
			}
			if p.accepts(e, s, alternatives) {
				if at(in.value).room += n; at(in.value).room >= enough {
					break
				}
			}
		}
	}
	feasible, _ := p.columnsFor(s, part.alternatives, s.need)
	for _, d := range p.sets.domainsOf(key) {
		first := d.columns.firstOf(feasible)
		if first < 0 {
			continue
		}
		narrowed := p.sets.narrow(part.alternatives, p.sets.only(key, d.value))
		if len(narrowed) == 0 {
			continue
		}
		if len(part.alternatives) > 1 {
			if columns, _ := p.columnsFor(s, narrowed, s.need); columns.empty() {
				continue
			}
		}
		// Columns are numbered by price.
		at(d.value).price = p.columns[first].offering.Price
	}
	result := make([]domain, 0, len(byValue))
	for _, domain := range byValue {
		result = append(result, *domain)
	}
	slices.SortFunc(result, func(a, b domain) int {
		return cmp.Or(-cmp.Compare(a.room, b.room), cmp.Compare(a.price, b.price), strings.Compare(a.value, b.value))
	})
	return result
}
