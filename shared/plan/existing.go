package plan

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// existing is a node that exists or is in flight and can take pods.
type existing struct {
	node *Node
	// have are the labels: of one value each, where the node has joined; in flight those that the claim leaves open have several.
	have   scheduling.Requirements
	taints []corev1.Taint
	// types are the instance types that a node in flight may come to be; empty once its labels say it all.
	types []*catalog.InstanceType
	free  vector
	ports []hostPort
	// counts are, by text of a host spread term's peers, how many of them the node has.
	counts map[string]int
	// initialized nodes are known to work, and come first.
	initialized bool
	// nominated are how many pods of each shape an earlier plan wanted here; nil if none did or the node has started.
	nominated map[*shape]int
	// taken are the demands that units were put here of.
	taken bitset
}

func (n *Node) label(key string) string {
	if n.Node != nil {
		if value, ok := n.Node.Labels[key]; ok {
			return value
		}
	}
	if n.NodeClaim != nil {
		return n.NodeClaim.Labels[key]
	}
	return ""
}

// leaving reports whether a node is about to go, or closed to new pods.
func (n *Node) leaving() bool {
	if n.NodeClaim != nil && n.NodeClaim.DeletionTimestamp != nil {
		return true
	}
	if n.Node == nil {
		return n.NodeClaim == nil
	}
	return n.Node.DeletionTimestamp != nil || n.Node.Spec.Unschedulable || slices.ContainsFunc(n.Node.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == api.DisruptedTaintKey
	})
}

// typesOf are the instance types that a claim not launched yet may become, or the one that it has become.
func (p *problem) typesOf(claim *api.NodeClaim) []*catalog.InstanceType {
	if claim.Spec.NodeClassRef == nil {
		return nil
	}
	requirements, err := scheduling.FromTerms(claim.Spec.Requirements)
	if err != nil {
		return nil
	}
	requirements.Merge(scheduling.FromLabels(claim.Labels))
	names, ok := requirements[corev1.LabelInstanceTypeStable]
	if !ok {
		return nil
	}
	var types []*catalog.InstanceType
	for _, typ := range p.typesOfPool(claim.Labels[api.NodePoolLabelKey]) {
		if names.Has(typ.Name) {
			types = append(types, typ)
		}
	}
	return types
}

// readExisting fills in the nodes that can take pods: initialised ones first, then by name.
func (p *problem) readExisting() {
	daemons := readDaemons(p.snapshot.DaemonSets, p.axes)
	for i := range p.snapshot.Nodes {
		if node := &p.snapshot.Nodes[i]; !node.leaving() {
			p.existing = append(p.existing, p.readNode(node, daemons))
		}
	}
	slices.SortFunc(p.existing, func(a, b *existing) int {
		if a.initialized != b.initialized {
			if a.initialized {
				return -1
			}
			return 1
		}
		return cmp.Or(strings.Compare(a.node.name(), b.node.name()))
	})
}

func (p *problem) readNode(node *Node, daemons []*daemon) *existing {
	e := &existing{node: node, taken: newBitset(0)}
	claim := node.NodeClaim
	// Nodes that no claim stands for have no such label and no starting phase that is known of.
	e.initialized = node.Node != nil && (claim == nil || node.Node.Labels[api.NodeInitializedLabelKey] == "true")
	e.have = scheduling.Requirements{}
	if claim != nil && !e.initialized {
		if requirements, err := scheduling.FromTerms(claim.Spec.Requirements); err == nil {
			e.have = requirements
		}
		overrideLabels(e.have, claim.Labels)
		e.types = p.typesOf(claim)
	}
	allocatable := corev1.ResourceList{}
	if claim != nil && !e.initialized {
		allocatable = p.claimAllocatable(claim, e.types)
	}
	if node.Node != nil {
		overrideLabels(e.have, node.Node.Labels)
		e.have["metadata.name"] = scheduling.In("metadata.name", node.Node.Name)
		for name, quantity := range node.Node.Status.Allocatable {
			// Devices appear only when their plug-in runs; until then the claim knows better.
			if e.initialized || !quantity.IsZero() {
				allocatable[name] = quantity
			}
		}
	}
	e.taints = nodeTaints(node, e.initialized)
	e.free = p.axes.supply(allocatable)
	for i := range node.Pods {
		if pod := &node.Pods[i]; !scheduling.IsTerminal(pod) {
			e.free.sub(p.axes.requests(scheduling.PodRequests(pod)))
			e.ports = append(e.ports, hostPorts(&pod.Spec)...)
		}
	}
	for _, d := range missingOn(daemons, e) {
		e.free.sub(d.need)
		e.ports = append(e.ports, d.ports...)
	}
	return e
}

func overrideLabels(have scheduling.Requirements, labels map[string]string) {
	for key, value := range labels {
		r := scheduling.In(key, value)
		have[r.Key()] = r
	}
}

// claimAllocatable is what the claim says pods may use, else the least of each resource among the types that the claim may become.
func (p *problem) claimAllocatable(claim *api.NodeClaim, types []*catalog.InstanceType) corev1.ResourceList {
	if len(claim.Status.Allocatable) > 0 {
		return claim.Status.Allocatable.DeepCopy()
	}
	least := corev1.ResourceList{}
	for _, name := range p.axes.names {
		for i, typ := range types {
			quantity := typ.Allocatable[name]
			if present := least[name]; i == 0 || quantity.Cmp(present) < 0 {
				least[name] = quantity
			}
		}
	}
	return least
}

// nodeTaints are the taints that keep pods away. A node that is still starting is going to lose some of its taints.
func nodeTaints(node *Node, initialized bool) []corev1.Taint {
	if node.Node == nil {
		return node.NodeClaim.Spec.Taints
	}
	if initialized {
		return node.Node.Spec.Taints
	}
	var taints []corev1.Taint
	for _, taint := range node.Node.Spec.Taints {
		if api.IsEphemeralTaint(taint) || slices.ContainsFunc(node.NodeClaim.Spec.StartupTaints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) }) {
			continue
		}
		taints = append(taints, taint)
	}
	for _, taint := range node.NodeClaim.Spec.Taints {
		if !slices.ContainsFunc(taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) }) {
			taints = append(taints, taint)
		}
	}
	return taints
}

// meetsOne reports whether the node is sure to meet one of the alternatives, whichever of the instance types and zones open to it it gets. Different ones may
// meet different alternatives.
func (e *existing) meetsOne(alternatives []scheduling.Requirements) bool {
	if slices.ContainsFunc(alternatives, func(a scheduling.Requirements) bool { return e.meets(a, e.have, e.types) }) {
		return true
	}
	if len(alternatives) < 2 || len(e.types) == 0 {
		return false
	}
	zones, _ := e.have[corev1.LabelTopologyZone].Values()
	if len(zones) == 0 {
		zones = []string{""}
	}
	for i := range e.types {
		for _, zone := range zones {
			have := e.have
			if zone != "" {
				have = e.have.Clone()
				have[corev1.LabelTopologyZone] = scheduling.In(corev1.LabelTopologyZone, zone)
			}
			if !slices.ContainsFunc(alternatives, func(a scheduling.Requirements) bool { return e.meets(a, have, e.types[i:i+1]) }) {
				return false
			}
		}
	}
	return true
}

// meets reports whether labels as in have, with those of any of the types, are sure to meet the requirements.
func (e *existing) meets(requirements, labels scheduling.Requirements, types []*catalog.InstanceType) bool {
	for key, want := range requirements {
		have, ok := labels[key]
		if ok && have.SubsetOf(want) {
			continue
		}
		if len(types) == 0 {
			if !ok && want.AllowsAbsent() {
				continue
			}
			return false
		}
		for _, typ := range types {
			ofType, typed := typ.Requirements[key]
			if typed && ok {
				ofType = ofType.Intersection(have)
			}
			if typed && !ofType.SubsetOf(want) || !typed && (ok || !want.AllowsAbsent()) {
				return false
			}
		}
	}
	return true
}

// mayMeet reports whether the node may come to meet the requirements.
func (e *existing) mayMeet(requirements scheduling.Requirements) bool {
	for key, want := range requirements {
		have, ok := e.have[key]
		if ok {
			if !have.Intersects(want) {
				return false
			}
			continue
		}
		if len(e.types) == 0 {
			if !want.AllowsAbsent() {
				return false
			}
			continue
		}
		if !slices.ContainsFunc(e.types, func(typ *catalog.InstanceType) bool {
			ofType, typed := typ.Requirements[key]
			return typed && ofType.Intersects(want) || !typed && want.AllowsAbsent()
		}) {
			return false
		}
	}
	return true
}

// domain is the node's value of a topology key; false if it has none, or not yet.
func (e *existing) domain(key string) (string, bool) {
	if value, ok := e.have[key].Single(); ok {
		return value, true
	}
	if key == corev1.LabelHostname && e.node.Node != nil {
		return e.node.Node.Name, true
	}
	return "", false
}

// accepts reports whether a unit's pods may run here, as far as labels, taints and host ports go.
func (e *existing) accepts(s *shape, alternatives []scheduling.Requirements) bool {
	return scheduling.ToleratesAll(e.taints, s.tolerations) && !portsClash(s.ports, e.ports) && e.meetsOne(alternatives)
}

// fillExisting gives the demands what places there are on the nodes.
func (p *problem) fillExisting() {
	for _, e := range p.existing {
		e.taken = newBitset(len(p.demands))
	}
	p.fillNominated()
	for _, d := range p.demands {
		for _, e := range p.existing {
			if len(d.units) == 0 {
				break
			}
			p.fillNode(e, d, len(d.units))
		}
	}
}

// fillNode puts as many units of the demand on the node as it takes, at most limit, and gives their number.
func (p *problem) fillNode(e *existing, d *demand, limit int) int {
	n := e.free.room(d.need, int64(min(limit, len(d.units))))
	if n > 0 && d.conflicts != nil {
		if e.taken.intersects(d.conflicts) {
			return 0
		}
		if d.conflicts.has(d.index) {
			n = 1
		}
	}
	if n == 0 || !e.accepts(d.shape, d.alternatives) {
		return 0
	}
	if len(d.hosts.spread) > 0 {
		n = min(n, p.spreadRoom(e, d))
	}
	if n > 0 {
		p.nominate(e, d, int(n))
	}
	return int(n)
}

func (p *problem) nominate(e *existing, d *demand, n int) {
	e.free.add(d.need, -int64(n))
	e.taken.add(d.index)
	for _, unit := range d.units[:n] {
		for _, pod := range unit {
			nomination := Nomination{Pod: refOf(pod)}
			if e.node.Node != nil {
				nomination.NodeName = e.node.Node.Name
			}
			if e.node.NodeClaim != nil {
				nomination.NodeClaimName = e.node.NodeClaim.Name
			}
			p.plan.Nominations = append(p.plan.Nominations, nomination)
		}
	}
	d.units = d.units[n:]
	for text := range p.hostPeers {
		if p.hostPeers[text].match(d.shape.pod()) {
			e.count(text, p.hostPeers[text])
			e.counts[text] += n
		}
	}
}

// spreadRoom is how many units the node takes before a spread over hosts would be skewed. The least count of all hosts is taken as zero, as an empty
// new node would have.
func (p *problem) spreadRoom(e *existing, d *demand) int64 {
	room := int64(len(d.units))
	for i := range d.hosts.spread {
		term := &d.hosts.spread[i]
		left := int64(term.maxSkew - e.count(term.text(), &term.peers))
		if !term.match(d.shape.pod()) {
			if left < 0 {
				return 0
			}
			continue
		}
		room = min(room, left)
	}
	return max(room, 0)
}

// count is how many of the peers the node has.
func (e *existing) count(text string, peers *peers) int {
	if n, ok := e.counts[text]; ok {
		return n
	}
	n := 0
	for i := range e.node.Pods {
		if pod := &e.node.Pods[i]; counts(pod) && peers.match(pod) {
			n++
		}
	}
	if e.counts == nil {
		e.counts = map[string]int{}
	}
	e.counts[text] = n
	return n
}

// counts reports whether a pod counts in its topology domain: it is there to stay.
func counts(pod *corev1.Pod) bool { return !scheduling.IsTerminal(pod) && pod.DeletionTimestamp == nil }
