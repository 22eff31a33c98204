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

// Constraints between pods over anything but hosts (zones, capacity types, labels of the user's own) are met by deciding the domain of each pod before nodes are
// packed: a shape is divided into demands, each with the domain that it is bound to among what it requires. A pod that such a constraint of another one
// counts is bound as well, so that all counts are exact. Constraints over hosts are met while nodes are filled.

// part is some of a shape's pods with the requirements of the domain that they are bound to.
type part struct {
	units [][]*corev1.Pod
	// alternatives are the shape's, narrowed to the domain.
	alternatives []scheduling.Requirements
	// follows are peers of which a node must have one already.
	follows []*peers
}

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
		if value := d.domain(key); value != "" && peers.matchClass(p.podClasses, d.shape.class) && (filter == nil || filter.admits(d)) {
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

// domain is the value of the key that the demand is bound to; empty if it is not.
func (d *demand) domain(key string) string { return d.bound[key] }

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

// divide makes the demands of the shapes.
func (p *problem) divide(shapes []*shape) {
	b := p.board
	clear(b.concerned)
	for _, s := range shapes {
		add := func(peers *peers, key string, spread, preferred bool) {
			if key == corev1.LabelHostname {
				return
			}
			until := math.MaxInt
			if preferred {
				until = p.round
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
			p.leave(s, s.pods, s.problem)
			continue
		}
		waiting = append(waiting, s)
	}
	// Those that demand nothing of others come first, then those that look for others, then those that keep their distance: so each finds counted what it is measured by.
	// Of those with equal demands the ones that their volumes tie to few domains choose first.
	slices.SortStableFunc(waiting, func(a, b *shape) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), -compareBools(a.tied, b.tied))
	})
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

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// rank orders shapes by what they demand of other pods.
func (s *shape) rank() int {
	switch {
	case len(s.topology.spread)+len(s.topology.anti)+len(s.topology.affinity) == 0:
		return 0
	case len(s.topology.spread)+len(s.topology.anti) == 0:
		return 1
	}
	return 2
}

// lacksPeers reports whether a term of affinity finds nobody yet, and the shape's own pods are no peers either.
func (p *problem) lacksPeers(s *shape) bool {
	for i := range s.topology.affinity {
		term := &s.topology.affinity[i]
		if term.key == corev1.LabelHostname || term.matchClass(p.podClasses, s.class) {
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

func (p *problem) divideShape(s *shape) {
	parts := []part{{alternatives: s.alternatives, units: single(s.pods)}}
	if p.podClasses.any {
		parts = p.bind(s, parts[0])
	}
	for i := range parts {
		if len(parts[i].units) > 0 {
			p.demand(s, &parts[i])
		}
	}
}

// demand adds the demand of a part.
func (p *problem) demand(s *shape, part *part) *demand {
	d := &demand{
		shape: s, index: len(p.demands), units: part.units, waiting: len(part.units), need: s.need, alternatives: part.alternatives,
		follows: part.follows, round: p.round, podsEach: len(part.units[0]),
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
	for _, key := range p.board.keys {
		if value, ok := singleValue(part.alternatives, key); ok {
			if d.bound == nil {
				d.bound = map[string]string{}
			}
			d.bound[key] = value
		}
	}
	p.demands = append(p.demands, d)
	p.recount(d, len(part.units)*len(part.units[0]))
	return d
}

// singleValue is the one value of the key that all alternatives demand.
func singleValue(alternatives []scheduling.Requirements, key string) (string, bool) {
	result := ""
	for i, a := range alternatives {
		value, ok := a[key].Single()
		if !ok || i > 0 && value != result {
			return "", false
		}
		result = value
	}
	return result, result != ""
}

func single(pods []*corev1.Pod) [][]*corev1.Pod {
	units := make([][]*corev1.Pod, len(pods))
	for i := range pods {
		units[i] = pods[i : i+1 : i+1]
	}
	return units
}

// bind divides one shape, and leaves those of its pods unplaced that no domain may take.
func (p *problem) bind(s *shape, whole part) []part {
	whole, away := p.keepAway(s, whole)
	if len(whole.alternatives) == 0 {
		p.leave(s, s.pods, fmt.Sprintf("required anti-affinity, its own or that of other pods, leaves it %s, and its node selector, affinity and volumes ask for just what is left out", away))
		return nil
	}
	parts := []part{whole}
	for i := range s.topology.affinity {
		parts = each(parts, func(part part) []part { return p.gather(s, part, &s.topology.affinity[i]) })
	}
	for i := range s.topology.anti {
		if term := &s.topology.anti[i]; term.key != corev1.LabelHostname && term.matchClass(p.podClasses, s.class) {
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
func (p *problem) keepAway(s *shape, whole part) (part, scheduling.Requirements) {
	forbidden := map[string][]string{}
	for _, r := range p.board.repelled {
		if r.count > 0 && r.matchClass(p.podClasses, s.class) {
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
	away := scheduling.Requirements{}
	for _, key := range sortedKeys(forbidden) {
		r := scheduling.NotIn(key, forbidden[key]...)
		away.Add(r)
		whole = whole.narrow(r)
	}
	return whole, away
}

func each(parts []part, divide func(part) []part) []part {
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
	w.alternatives = narrow(w.alternatives, r)
	return w
}

// narrow adds a requirement to each alternative, and leaves those out that then allow nothing.
func narrow(alternatives []scheduling.Requirements, r scheduling.Requirement) []scheduling.Requirements {
	var result []scheduling.Requirements
	for _, alternative := range alternatives {
		if have, ok := alternative[r.Key()]; ok && !have.Intersects(r) {
			continue
		}
		narrowed := alternative.Clone()
		narrowed.Add(r)
		result = append(result, narrowed)
	}
	return result
}

// gather binds a part to the domain of the pods that it has to be with.
func (p *problem) gather(s *shape, whole part, term *affinityTerm) []part {
	counts := p.tally(term.peers, term.key)
	if term.key == corev1.LabelHostname {
		if anyPositive(counts) || !term.matchClass(p.podClasses, s.class) || p.hasPlanned(term.peers) {
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
			p.leave(s, flatten(whole.units), fmt.Sprintf("%s wants pods that run in %s, which its node selector, affinity and volumes leave out", term.field, scheduling.In(term.key, values...)))
			return nil
		}
		return []part{narrowed}
	}
	if !term.matchClass(p.podClasses, s.class) {
		p.leave(s, flatten(whole.units), fmt.Sprintf("%s wants pods %s in the same %q, and none is running there yet", term.field, term.selector, term.key))
		return nil
	}
	domains := p.domains(s, whole, term.key)
	if len(domains) == 0 {
		return p.nowhere(s, whole, term.field, term.key)
	}
	return []part{whole.narrow(scheduling.In(term.key, domains[0].value))}
}

// hasPlanned reports whether any pod of the peers is among the demands.
func (p *problem) hasPlanned(peers *peers) bool {
	return slices.ContainsFunc(p.demands, func(d *demand) bool { return d.counted > 0 && peers.matchClass(p.podClasses, d.shape.class) })
}

// nowhere deals with a part that no domain of the key takes. Mostly that has a reason of another kind, which explaining the part without its domain will
// find; if not, the pools do not say which domains there are.
func (p *problem) nowhere(s *shape, whole part, field, key string) []part {
	known := whole.narrow(scheduling.Exists(key))
	if columns, _ := p.columnsFor(s, known.alternatives, s.need); columns.empty() && len(known.alternatives) > 0 {
		return []part{known}
	}
	p.leave(s, flatten(whole.units), fmt.Sprintf("%s is over %q, and no node pool lists the values that it can have: add a requirement with operator In to one", field, key))
	return nil
}

// together makes one unit of the pods, which have to share a node; those that no node has room for are left.
func (p *problem) together(s *shape, whole part, term *affinityTerm) []part {
	pods := flatten(whole.units)
	largest := int64(0)
	feasible, _ := p.columnsFor(s, whole.alternatives, s.need)
	for j := range feasible.all() {
		largest = max(largest, p.configs[p.columns[j].config].free.room(s.need, int64(len(pods))))
	}
	for _, e := range p.existing {
		if n := e.free.room(s.need, int64(len(pods))); n > largest && p.accepts(e, s, whole.alternatives) {
			largest = n
		}
	}
	if portsClash(s.ports, s.ports) || slices.ContainsFunc(s.topology.anti, func(t affinityTerm) bool { return t.key == corev1.LabelHostname && t.matchClass(p.podClasses, s.class) }) {
		largest = min(largest, 1)
	}
	for i := range s.topology.spread {
		if t := &s.topology.spread[i]; t.key == corev1.LabelHostname && t.matchClass(p.podClasses, s.class) {
			largest = min(largest, int64(t.maxSkew))
		}
	}
	if largest > 0 && largest < int64(len(pods)) {
		p.leave(s, pods[largest:], fmt.Sprintf("%s wants its pods on one node, and the largest has room for %d of the %d that wait", term.field, largest, len(pods)))
		pods = pods[:largest]
	}
	whole.units = [][]*corev1.Pod{pods}
	return []part{whole}
}

func flatten(units [][]*corev1.Pod) []*corev1.Pod { return slices.Concat(units...) }

// settleOn binds a part to a domain of the key if a constraint of any shape over that key counts its pods: spreads want them level, the others in few places.
func (p *problem) settleOn(s *shape, whole part, key string) []part {
	if _, ok := singleValue(whole.alternatives, key); ok {
		return []part{whole}
	}
	counted, levelled := p.concern(s, key)
	owns := slices.ContainsFunc(s.topology.anti, func(t affinityTerm) bool { return t.key == key })
	if counted == nil && !owns {
		return []part{whole}
	}
	domains := p.domains(s, whole, key)
	if len(domains) == 0 {
		return []part{whole}
	}
	if levelled == nil {
		return []part{whole.narrow(scheduling.In(key, domains[0].value))}
	}
	// Level, as far as that costs little.
	cheapest := math.Inf(1)
	for _, domain := range domains {
		cheapest = min(cheapest, domain.price)
	}
	domains = slices.DeleteFunc(domains, func(d domain) bool { return d.room <= 0 && d.price > cheapest*levelPriceFactor })
	return p.level(whole, key, domains, cloneCounts(p.tally(levelled.peers, key)), func(string, int) bool { return true }, nil)
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

// levelPriceFactor is how much dearer than the cheapest a domain may be to which pods are sent only to keep others' spreads level.
const levelPriceFactor = 1.1

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
	at := func(value string) *domain {
		if byValue[value] == nil {
			byValue[value] = &domain{value: value, price: math.Inf(1)}
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
				if alternatives = narrow(part.alternatives, scheduling.In(key, in.value)); len(alternatives) == 0 {
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
		narrowed := narrow(part.alternatives, scheduling.In(key, d.value))
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
