package planner

import (
	"cmp"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/plan"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
	"github.com/whittle-dev/whittle/shared/volumes"
)

// existing is a node that exists or is in flight and can take pods.
type existing struct {
	node *plan.Node
	// index is the node's in the snapshot.
	index int
	// have are the labels: of one value each, where the node has joined; in flight those that the claim leaves open have several.
	have   scheduling.Requirements
	taints []corev1.Taint
	// types are the instance types that a node in flight may come to be; empty once its labels say it all.
	types []*catalog.InstanceType
	free  vector
	ports []hostPort
	// running are, by peers, how many of them run on the node.
	running map[*peers]int
	// anti are those whom required anti-affinity of pods on the node keeps away from it.
	anti []*peers
	// attached are the volumes of each driver on the node, limits how many it can attach of those that have a limit.
	attached map[string]map[string]bool
	limits   map[string]int
	// initialized nodes are known to work, and come first.
	initialized bool
	// nominated are how many pods of each shape, by its first pod, an earlier plan wanted here; nil if none did or the node has started.
	nominated map[*corev1.Pod]int
	// fills are what the plan puts here.
	fills []fill
}

// readExisting fills in the nodes that can take pods: initialised ones first, then by rank and name.
func (p *placements) readExisting() {
	daemons := readDaemons(p.work.snapshot.DaemonSets, p.work.axes)
	for i := range p.work.snapshot.Nodes {
		if node := &p.work.snapshot.Nodes[i]; !node.ClosedToPods() {
			e := p.readNode(node, daemons)
			e.index = i
			p.existing = append(p.existing, e)
		}
	}
	slices.SortFunc(p.existing, func(a, b *existing) int {
		if a.initialized != b.initialized {
			if a.initialized {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.node.Rank, b.node.Rank), strings.Compare(a.node.Name(), b.node.Name()))
	})
}

func (p *placements) readNode(node *plan.Node, daemons []*daemon) *existing {
	e := &existing{node: node, initialized: node.Initialized()}
	var allocatable corev1.ResourceList
	if e.initialized {
		e.have, allocatable = node.Requirements(), node.Node.Status.Allocatable
	} else {
		allocatable = p.readStarting(e)
	}
	e.taints = node.Taints()
	e.free = p.work.axes.supply(allocatable)
	for i := range node.Pods {
		pod := &node.Pods[i]
		if scheduling.IsTerminal(pod) {
			continue
		}
		p.work.axes.take(e.free, pod)
		e.ports = appendHostPorts(e.ports, &pod.Spec)
		p.readRunning(e, pod)
	}
	if node.Node != nil {
		e.limits = p.work.volumes.Limits(node.Node.Name)
	}
	for _, d := range missingOn(daemons, e) {
		e.free.sub(d.need)
		e.ports = append(e.ports, d.ports...)
	}
	return e
}

// readStarting reads what is known of the labels of a node that is starting, and gives what pods may use of it.
func (p *placements) readStarting(e *existing) corev1.ResourceList {
	e.have = scheduling.Requirements{}
	claim, node := e.node.NodeClaim, e.node.Node
	if requirements, err := scheduling.FromTerms(claim.Spec.Requirements); err == nil {
		e.have = requirements
	}
	plan.OverrideLabels(e.have, claim.Labels)
	e.types = p.offers.typesOf(claim)
	allocatable := p.offers.claimAllocatable(claim, e.types)
	if node == nil {
		return allocatable
	}
	if !e.node.Unregistered() {
		plan.OverrideLabels(e.have, node.Labels)
	}
	plan.AddNames(e.have, node)
	for name, quantity := range node.Status.Allocatable {
		// Devices appear only when their plug-in runs; until then the claim knows better.
		if !quantity.IsZero() {
			allocatable[name] = quantity
		}
	}
	return allocatable
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

// readRunning notes what a pod on the node demands of those that come to it.
func (p *placements) readRunning(e *existing, pod *corev1.Pod) {
	if a := pod.Spec.Affinity; a != nil && a.PodAntiAffinity != nil && p.work.counts(pod) {
		// A term that cannot be read has not kept the scheduler from binding the pod either.
		terms, _ := p.work.readAffinity(pod, a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, nil, "spec.affinity.podAntiAffinity")
		for _, term := range terms {
			if term.key == corev1.LabelHostname && !slices.Contains(e.anti, term.peers) {
				e.anti = append(e.anti, term.peers)
			}
		}
	}
	if len(pod.Spec.Volumes) == 0 || len(p.work.snapshot.CSINodes) == 0 {
		return
	}
	for _, attachment := range p.work.volumes.Attachments(pod) {
		e.attach(attachment)
	}
}

func (e *existing) attach(a volumes.Attachment) {
	if e.attached == nil {
		e.attached = map[string]map[string]bool{}
	}
	if e.attached[a.Driver] == nil {
		e.attached[a.Driver] = map[string]bool{}
	}
	e.attached[a.Driver][a.Volume] = true
}

// canAttach reports whether the node can attach the volumes beside those it has.
func (e *existing) canAttach(attachments []volumes.Attachment) bool {
	more := map[string]int{}
	for _, a := range attachments {
		if !e.attached[a.Driver][a.Volume] {
			more[a.Driver]++
		}
	}
	for driver, n := range more {
		if limit, ok := e.limits[driver]; ok && len(e.attached[driver])+n > limit {
			return false
		}
	}
	return true
}

// fillExisting gives the demands from first on what places there are on the nodes.
func (p *placements) fillExisting(first int) {
	p.fillNominated(first)
	demands := slices.Clone(p.demands[first:])
	slices.SortStableFunc(demands, func(a, b *demand) int {
		// Those of which a node takes few come first: new nodes would be needed for them most of all.
		return cmp.Or(-compareBools(a.sparse(), b.sparse()), compareShapes(a.shape, b.shape))
	})
	for _, d := range demands {
		for _, e := range p.existing {
			if d.waiting == 0 {
				break
			}
			p.fillNode(e, d, d.waiting)
		}
	}
}

// sparse reports whether a node takes few units of the demand, whatever room it has.
func (d *demand) sparse() bool {
	return d.conflicts != nil && d.conflicts.has(d.index) || len(d.hosts.spread) > 0
}

// fillNode puts as many units of the demand on the node as it takes, at most limit, and gives their number.
func (p *placements) fillNode(e *existing, d *demand, limit int) int {
	n := int(e.free.room(d.need, int64(min(limit, d.waiting))))
	if n == 0 {
		return 0
	}
	for key, value := range d.bound {
		if have, ok := e.domain(key); ok && have != value {
			return 0
		}
	}
	if n = p.roomBesides(e, d, n); n == 0 || !p.accepts(e, d.shape, d.alternatives) {
		return 0
	}
	e.free.add(d.need, -int64(n))
	if i := slices.IndexFunc(e.fills, func(f fill) bool { return f.demand == d.index }); i >= 0 {
		e.fills[i].count += n
	} else {
		e.fills = append(e.fills, fill{demand: d.index, count: n})
	}
	for _, a := range d.shape.attachments {
		e.attach(a)
	}
	d.waiting -= n
	return n
}

// roomBesides is how many units of the demand the node takes beside the pods on it, at most limit.
func (p *placements) roomBesides(e *existing, d *demand, limit int) int {
	if d.conflicts != nil {
		for _, f := range e.fills {
			if d.conflicts.has(f.demand) {
				return 0
			}
		}
		if d.conflicts.has(d.index) {
			limit = 1
		}
	}
	for _, peers := range e.anti {
		if peers.matchClass(p.work.podClasses, d.shape.class) {
			return 0
		}
	}
	for i := range d.hosts.anti {
		if p.count(e, d.hosts.anti[i].peers) > 0 {
			return 0
		}
	}
	for _, peers := range d.follows {
		if p.count(e, peers) == 0 {
			return 0
		}
	}
	for i := range d.hosts.spread {
		term := &d.hosts.spread[i]
		// The least count of all hosts is taken as zero, as an empty new node would have.
		left := term.maxSkew + d.slack - p.count(e, term.peers)
		if !term.matchClass(p.work.podClasses, d.shape.class) {
			if left < 0 {
				return 0
			}
			continue
		}
		limit = min(limit, left)
	}
	if len(d.shape.attachments) > 0 && limit > 0 {
		if !e.canAttach(d.shape.attachments) {
			return 0
		}
		limit = 1 // pods with volumes are each a shape of their own
	}
	return max(limit, 0)
}

// count is how many of the peers the node has, and will have by the plan.
func (p *placements) count(e *existing, wanted *peers) int {
	n, ok := e.running[wanted]
	if !ok {
		n = p.work.runningOn(e.index, wanted)
		if e.running == nil {
			e.running = map[*peers]int{}
		}
		e.running[wanted] = n
	}
	for _, f := range e.fills {
		if d := p.demands[f.demand]; wanted.matchClass(p.work.podClasses, d.shape.class) {
			n += f.count * d.pods()
		}
	}
	return n
}

// nominate notes the places on existing nodes.
func (p *placements) nominate() []plan.Nomination {
	var nominations []plan.Nomination
	for _, e := range p.existing {
		for _, f := range e.fills {
			d := p.demands[f.demand]
			for _, unit := range d.units[:f.count] {
				for _, pod := range unit {
					nomination := plan.Nomination{Pod: plan.RefOf(pod)}
					if e.node.Node != nil {
						nomination.NodeName = e.node.Node.Name
					}
					if e.node.NodeClaim != nil {
						nomination.NodeClaimName = e.node.NodeClaim.Name
					}
					nominations = append(nominations, nomination)
				}
			}
			d.units = d.units[f.count:]
		}
	}
	return nominations
}

// missingOn are the daemons that will run on an existing node and do not yet.
func missingOn(daemons []*daemon, e *existing) []*daemon {
	var missing []*daemon
	for _, d := range daemons {
		if !scheduling.ToleratesAll(e.taints, d.tolerations) || !slices.ContainsFunc(d.alternatives, e.mayMeet) {
			continue
		}
		if !d.hasPod(e.node.Pods) {
			missing = append(missing, d)
		}
	}
	return missing
}

// accepts reports whether a unit's pods may run on the node, as far as labels, taints and host ports go.
func (p *placements) accepts(e *existing, s *shape, alternatives []scheduling.Requirements) bool {
	return s.tolerates(e.taints) && !portsClash(s.ports, e.ports) && e.meetsOne(alternatives)
}
