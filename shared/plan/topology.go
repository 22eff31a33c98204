package plan

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// part is some of a shape's pods with the requirements of the domain that they are bound to.
type part struct {
	units        [][]*corev1.Pod
	alternatives []scheduling.Requirements
}

// placed remembers that pods of this batch go to a domain, for the constraints of those that come after.
type placed struct {
	pod        *corev1.Pod
	key, value string
	count      int
}

// divider turns shapes into demands, such that constraints between pods over anything but hosts hold however each demand is then placed: it decides
// the domain of each pod beforehand, and adds it to what the pod requires.
type divider struct {
	p      *problem
	placed []placed
	// keys are the topology keys that any constraint uses.
	keys map[string]bool
	// moving are the pods that wait, by UID: where they run now they do not count.
	moving map[string]bool
	// counted has the peers of the existing nodes by key and peers' text.
	counted map[string]map[string]int
	// repelled are required anti-affinity terms of pods on existing nodes, with the domain that each keeps its peers from.
	repelled []repelled
	// accepted are the shapes that have places planned, for anti-affinity among the batch.
	accepted []*shape
}

type repelled struct {
	term  affinityTerm
	value string
}

// divide makes the demands of all shapes.
func (p *problem) divide(shapes []*shape, constraints *constraintLabels) {
	d := &divider{p: p, keys: map[string]bool{}, counted: map[string]map[string]int{}, moving: map[string]bool{}}
	if constraints.any {
		d.prepare(shapes)
	}
	for _, s := range shapes {
		if s.problem != "" {
			p.leave(s, s.pods, s.problem)
			continue
		}
		parts := []part{{alternatives: s.alternatives, units: single(s.pods)}}
		if constraints.any {
			parts = d.divide(s, parts[0])
		}
		for _, part := range parts {
			if len(part.units) == 0 {
				continue
			}
			demand := &demand{shape: s, index: len(p.demands), units: part.units, need: s.need, alternatives: part.alternatives}
			if n := len(part.units[0]); n > 1 {
				demand.need = make(vector, len(s.need))
				demand.need.add(s.need, int64(n))
			}
			for _, term := range s.topology.spread {
				if term.key == corev1.LabelHostname {
					demand.hosts.spread = append(demand.hosts.spread, term)
				}
			}
			for _, term := range s.topology.anti {
				if term.key == corev1.LabelHostname {
					demand.hosts.anti = append(demand.hosts.anti, term)
				}
			}
			p.demands = append(p.demands, demand)
		}
	}
}

func single(pods []*corev1.Pod) [][]*corev1.Pod {
	units := make([][]*corev1.Pod, len(pods))
	for i := range pods {
		units[i] = pods[i : i+1 : i+1]
	}
	return units
}

func (d *divider) prepare(shapes []*shape) {
	for _, s := range shapes {
		for _, term := range s.topology.spread {
			d.keys[term.key] = true
		}
		for _, term := range slices.Concat(s.topology.affinity, s.topology.anti) {
			d.keys[term.key] = true
		}
		for _, pod := range s.pods {
			d.moving[string(pod.UID)] = true
		}
	}
	for i := range d.p.snapshot.Nodes {
		node := &d.p.snapshot.Nodes[i]
		for j := range node.Pods {
			pod := &node.Pods[j]
			if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil || !d.counts(pod) {
				continue
			}
			terms, err := readTopology(pod)
			if err != nil {
				continue // the scheduler could not have bound it by a term that cannot be read
			}
			for _, term := range terms.anti {
				if value, ok := nodeDomain(node, term.key); ok {
					d.repelled = append(d.repelled, repelled{term: term, value: value})
				}
			}
		}
	}
}

func (d *divider) counts(pod *corev1.Pod) bool { return counts(pod) && !d.moving[string(pod.UID)] }

// nodeDomain is the value that a node has of a topology key.
func nodeDomain(node *Node, key string) (string, bool) {
	if node.Node == nil {
		return "", false
	}
	value, ok := node.Node.Labels[key]
	if !ok && key == corev1.LabelHostname {
		return node.Node.Name, true
	}
	return value, ok
}

// divide divides one shape, and leaves those of its pods unplaced that no domain may take.
func (d *divider) divide(s *shape, whole part) []part {
	parts := []part{whole}
	pod := s.pod()
	forbidden := map[string][]string{}
	for _, r := range d.repelled {
		if r.term.match(pod) {
			forbidden[r.term.key] = append(forbidden[r.term.key], r.value)
		}
	}
	for _, term := range s.topology.anti {
		for value, n := range d.count(&term.peers, term.key) {
			if n > 0 {
				forbidden[term.key] = append(forbidden[term.key], value)
			}
		}
	}
	for _, key := range sortedKeys(forbidden) {
		r := scheduling.NotIn(key, forbidden[key]...)
		if parts[0].alternatives = narrow(parts[0].alternatives, r); len(parts[0].alternatives) == 0 {
			d.p.leave(s, s.pods, fmt.Sprintf("required anti-affinity to pods that run leaves it %s, and its node selector and affinity ask for just what is left out", r))
			return nil
		}
	}
	if term := d.clash(s); term != nil {
		d.p.leave(s, s.pods, fmt.Sprintf("%s over %q keeps it from pods that wait for a node as well: it gets its place once those have theirs", term.field, term.key))
		return nil
	}
	for _, term := range s.topology.affinity {
		parts = d.each(parts, func(part part) []part { return d.gather(s, part, &term) })
	}
	for _, term := range s.topology.anti {
		if term.key != corev1.LabelHostname && term.match(pod) {
			alone := spreadTerm{peers: term.peers, field: term.field, key: term.key, maxSkew: 1, minDomains: math.MaxInt}
			parts = d.each(parts, func(part part) []part { return d.spread(s, part, &alone) })
		}
	}
	for _, term := range s.topology.spread {
		if term.key != corev1.LabelHostname {
			parts = d.each(parts, func(part part) []part { return d.spread(s, part, &term) })
		}
	}
	for _, part := range parts {
		if len(part.units) > 0 {
			d.remember(s, part)
		}
	}
	d.accepted = append(d.accepted, s)
	return parts
}

func (d *divider) each(parts []part, divide func(part) []part) []part {
	var result []part
	for _, part := range parts {
		if len(part.units) > 0 {
			result = append(result, divide(part)...)
		}
	}
	return result
}

// remember notes the domains that a part's pods are bound to.
func (d *divider) remember(s *shape, part part) {
	for key := range d.keys {
		if len(part.alternatives) == 0 {
			return
		}
		if value, ok := part.alternatives[0][key].Single(); ok {
			d.placed = append(d.placed, placed{pod: s.pod(), key: key, value: value, count: len(part.units)})
		}
	}
}

// clash is a term of required anti-affinity, over anything but hosts, between the shape and one that was accepted before it. Where its pods go in the end is
// not known yet, so the shape has to wait.
func (d *divider) clash(s *shape) *affinityTerm {
	for _, other := range d.accepted {
		for _, pair := range [...][2]*shape{{s, other}, {other, s}} {
			for i := range pair[0].topology.anti {
				if term := &pair[0].topology.anti[i]; term.key != corev1.LabelHostname && term.match(pair[1].pod()) {
					return term
				}
			}
		}
	}
	return nil
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

// count is how many peers each domain of the key has: on existing nodes, and of this batch as far as it is decided.
func (d *divider) count(peers *peers, key string) map[string]int {
	text := key + " " + peers.text()
	onNodes, ok := d.counted[text]
	if !ok {
		onNodes = map[string]int{}
		for i := range d.p.snapshot.Nodes {
			node := &d.p.snapshot.Nodes[i]
			value, ok := nodeDomain(node, key)
			if !ok {
				continue
			}
			for j := range node.Pods {
				if pod := &node.Pods[j]; d.counts(pod) && peers.match(pod) {
					onNodes[value]++
				}
			}
		}
		d.counted[text] = onNodes
	}
	total := maps.Clone(onNodes)
	for _, p := range d.placed {
		if p.key == key && peers.match(p.pod) {
			total[p.value] += p.count
		}
	}
	return total
}

// gather binds a part to the domain of the pods that it has to be with.
func (d *divider) gather(s *shape, whole part, term *affinityTerm) []part {
	var values []string
	for value, n := range d.count(&term.peers, term.key) {
		if n > 0 {
			values = append(values, value)
		}
	}
	if len(values) > 0 {
		r := scheduling.In(term.key, values...)
		if whole.alternatives = narrow(whole.alternatives, r); len(whole.alternatives) == 0 {
			d.p.leave(s, flatten(whole.units), fmt.Sprintf("%s wants pods that run in %s, which its node selector and affinity leave out", term.field, r))
			return nil
		}
		return []part{whole}
	}
	if !term.match(s.pod()) {
		d.p.leave(s, flatten(whole.units), fmt.Sprintf("%s wants pods %s in the same %q, and none is running there yet", term.field, term.selector, term.key))
		return nil
	}
	if term.key == corev1.LabelHostname {
		return d.together(s, whole, term)
	}
	domains := d.domains(s, whole, term.key)
	if len(domains) == 0 {
		return d.nowhere(s, whole, term.field, term.key)
	}
	whole.alternatives = narrow(whole.alternatives, scheduling.In(term.key, domains[0].value))
	return []part{whole}
}

// nowhere deals with a part that no domain of the key takes. Mostly that has a reason of another kind, which explaining the part without its domain will
// find; if not, the pools do not say which domains there are.
func (d *divider) nowhere(s *shape, whole part, field, key string) []part {
	whole.alternatives = narrow(whole.alternatives, scheduling.Exists(key))
	if columns, _ := d.p.columnsFor(s, whole.alternatives, s.need); columns.empty() && len(whole.alternatives) > 0 {
		return []part{whole}
	}
	d.p.leave(s, flatten(whole.units), fmt.Sprintf("%s is over %q, and no node pool lists the values that it can have: add a requirement with operator In to one", field, key))
	return nil
}

// together makes one unit of the pods, which have to share a node; those that no node has room for are left.
func (d *divider) together(s *shape, whole part, term *affinityTerm) []part {
	pods := flatten(whole.units)
	largest := int64(0)
	feasible, _ := d.p.columnsFor(s, whole.alternatives, s.need)
	for j := range feasible.all() {
		largest = max(largest, d.p.configs[d.p.columns[j].config].free.room(s.need, int64(len(pods))))
	}
	for _, e := range d.p.existing {
		if n := e.free.room(s.need, int64(len(pods))); n > largest && e.accepts(s, whole.alternatives) {
			largest = n
		}
	}
	if largest > 0 && largest < int64(len(pods)) {
		d.p.leave(s, pods[largest:], fmt.Sprintf("%s wants its pods on one node, and the largest has room for %d of the %d that wait", term.field, largest, len(pods)))
		pods = pods[:largest]
	}
	whole.units = [][]*corev1.Pod{pods}
	return []part{whole}
}

func flatten(units [][]*corev1.Pod) []*corev1.Pod { return slices.Concat(units...) }

// domain is a value of a topology key that a part can be bound to.
type domain struct {
	value string
	// room is how many units the existing nodes there have places for.
	room int64
	// price is that of the cheapest new node there, infinite without one.
	price float64
}

// domains are those of the key that can take a unit of the part: best first, which is where nodes have room already, then where the cheapest new one is.
func (d *divider) domains(s *shape, part part, key string) []domain {
	p := d.p
	byValue := map[string]*domain{}
	at := func(value string) *domain {
		if byValue[value] == nil {
			byValue[value] = &domain{value: value, price: math.Inf(1)}
		}
		return byValue[value]
	}
	for _, e := range p.existing {
		if value, ok := e.domain(key); ok {
			n := e.free.room(s.need, int64(len(part.units)))
			if e.nominated != nil {
				// The rest of its room is meant for others.
				n = min(n, int64(e.nominated[s]))
			}
			if n > 0 && e.accepts(s, narrow(part.alternatives, scheduling.In(key, value))) {
				at(value).room += n
			}
		}
	}
	feasible, _ := p.columnsFor(s, part.alternatives, s.need)
	for _, d := range p.sets.domainsOf(key) {
		if first := d.columns.firstOf(feasible); first >= 0 {
			domain := at(d.value)
			domain.price = min(domain.price, p.columns[first].offering.Price)
		}
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
