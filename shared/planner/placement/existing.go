package placement

import (
	"cmp"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/resource"
	"github.com/whittle-dev/whittle/shared/planner/workload"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
	"github.com/whittle-dev/whittle/shared/volumes"
)

// ExistingNode is a node that exists or is in flight and can take pods.
type ExistingNode struct {
	Node *plan.Node
	// index is the node's in the snapshot.
	index int
	// have are the labels: of one value each, where the node has joined; in flight those that the
	// claim leaves open have several.
	have   scheduling.Requirements
	Taints []corev1.Taint
	// types are the instance types that a node in flight may come to be; empty once its labels say it
	// all.
	types []*catalog.InstanceType
	Free  resource.Vector
	ports []workload.HostPort
	// running are, by selected pods, how many of them run on the node.
	running map[*workload.PodSelector]int
	// antiAffinity are those whom required anti-affinity of pods on the node keeps away from it.
	antiAffinity []*workload.PodSelector
	// attached are the volumes of each driver on the node, limits how many it can attach of those that
	// have a limit.
	attached map[string]map[string]bool
	limits   map[string]int
	// initialized nodes are known to work, and come first.
	initialized bool
	// Nominated are how many pods of each pod group, by its first pod, an earlier plan wanted here;
	// nil if none did or the node has started.
	Nominated map[*corev1.Pod]int
	// Fills are what the plan puts here.
	Fills []Fill
}

// readExisting fills in the nodes that can take pods: initialised ones first, then by rank and
// name.
func (p *State) readExisting() {
	daemons := offering.ReadDaemonSets(p.Work.Snapshot.DaemonSets, p.Work.Axes)
	for i := range p.Work.Snapshot.Nodes {
		if node := &p.Work.Snapshot.Nodes[i]; !node.ClosedToPods() {
			e := p.readNode(node, daemons)
			e.index = i
			p.Existing = append(p.Existing, e)
		}
	}
	slices.SortFunc(p.Existing, func(a, b *ExistingNode) int {
		if a.initialized != b.initialized {
			if a.initialized {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.Node.Rank, b.Node.Rank), strings.Compare(a.Node.Name(), b.Node.Name()))
	})
}

func (p *State) readNode(node *plan.Node, daemons []*offering.DaemonSet) *ExistingNode {
	e := &ExistingNode{Node: node, initialized: node.Initialized()}
	var allocatable corev1.ResourceList
	if e.initialized {
		e.have, allocatable = node.Requirements(), node.Node.Status.Allocatable
	} else {
		allocatable = p.readStarting(e)
	}
	e.Taints = node.Taints()
	e.Free = p.Work.Axes.Supply(allocatable)
	for i := range node.Pods {
		pod := &node.Pods[i]
		if scheduling.IsTerminal(pod) {
			continue
		}
		p.Work.Axes.Take(e.Free, pod)
		e.ports = workload.AppendHostPorts(e.ports, &pod.Spec)
		p.readRunning(e, pod)
	}
	if node.Node != nil {
		e.limits = p.Work.Volumes.Limits(node.Node.Name)
	}
	for _, d := range missingOn(daemons, e) {
		e.Free.Sub(d.Need)
		e.ports = append(e.ports, d.Ports...)
	}
	return e
}

// readStarting reads what is known of the labels of a node that is starting, and gives what pods
// may use of it.
func (p *State) readStarting(e *ExistingNode) corev1.ResourceList {
	e.have = scheduling.Requirements{}
	claim, node := e.Node.NodeClaim, e.Node.Node
	if requirements, err := scheduling.FromTerms(claim.Spec.Requirements); err == nil {
		e.have = requirements
	}
	plan.OverrideLabels(e.have, claim.Labels)
	e.types = p.Offers.ClaimTypes(claim)
	allocatable := p.Offers.ClaimAllocatable(claim, e.types)
	if node == nil {
		return allocatable
	}
	if !e.Node.Unregistered() {
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

// meetsOne reports whether the node is sure to meet one of the alternatives, whichever of the
// instance types and zones open to it it gets. Different ones may meet different alternatives.
func (e *ExistingNode) meetsOne(alternatives []scheduling.Requirements) bool {
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
			if !slices.ContainsFunc(
				alternatives,
				func(a scheduling.Requirements) bool { return e.meets(a, have, e.types[i:i+1]) },
			) {
				return false
			}
		}
	}
	return true
}

// meets reports whether labels as in have, with those of any of the types, are sure to meet the
// requirements.
func (e *ExistingNode) meets(requirements, labels scheduling.Requirements, types []*catalog.InstanceType) bool {
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

// MayMeet reports whether the node may come to meet the requirements.
func (e *ExistingNode) MayMeet(requirements scheduling.Requirements) bool {
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

// Domain is the node's value of a topology key; false if it has none, or not yet.
func (e *ExistingNode) Domain(key string) (string, bool) {
	if value, ok := e.have[key].Single(); ok {
		return value, true
	}
	if key == corev1.LabelHostname && e.Node.Node != nil {
		return e.Node.Node.Name, true
	}
	return "", false
}

// readRunning notes what a pod on the node demands of those that come to it.
func (p *State) readRunning(e *ExistingNode, pod *corev1.Pod) {
	if a := pod.Spec.Affinity; a != nil && a.PodAntiAffinity != nil && p.Work.CountsInDomain(pod) {
		// A term that cannot be read has not kept the scheduler from binding the pod either.
		terms, _ := p.Work.ReadAffinity(
			pod,
			a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution,
			nil,
			"spec.affinity.podAntiAffinity",
		)
		for _, term := range terms {
			if term.Key == corev1.LabelHostname && !slices.Contains(e.antiAffinity, term.PodSelector) {
				e.antiAffinity = append(e.antiAffinity, term.PodSelector)
			}
		}
	}
	if len(pod.Spec.Volumes) == 0 || len(p.Work.Snapshot.CSINodes) == 0 {
		return
	}
	for _, attachment := range p.Work.Volumes.Attachments(pod) {
		e.attach(attachment)
	}
}

func (e *ExistingNode) attach(a volumes.Attachment) {
	if e.attached == nil {
		e.attached = map[string]map[string]bool{}
	}
	if e.attached[a.Driver] == nil {
		e.attached[a.Driver] = map[string]bool{}
	}
	e.attached[a.Driver][a.Volume] = true
}

// canAttach reports whether the node can attach the volumes beside those it has.
func (e *ExistingNode) canAttach(attachments []volumes.Attachment) bool {
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

// FillExisting gives the demands from first on what places there are on the nodes.
func (p *State) FillExisting(first int) {
	p.fillNominated(first)
	demands := slices.Clone(p.Demands[first:])
	slices.SortStableFunc(demands, func(a, b *Demand) int {
		// Those of which a node takes few come first: new nodes would be needed for them most of all.
		return cmp.Or(-CompareBools(a.sparse(), b.sparse()), workload.CompareGroups(a.Group, b.Group))
	})
	for _, d := range demands {
		for _, e := range p.Existing {
			if d.Waiting == 0 {
				break
			}
			p.FillNode(e, d, d.Waiting)
		}
	}
}

// sparse reports whether a node takes few units of the demand, whatever room it has.
func (d *Demand) sparse() bool {
	return d.Conflicts != nil && d.Conflicts.Has(d.Index) || len(d.Hosts.Spread) > 0
}

// FillNode puts as many units of the demand on the node as it takes, at most limit, and gives their
// number.
func (p *State) FillNode(e *ExistingNode, d *Demand, limit int) int {
	n := int(e.Free.Room(d.Need, int64(min(limit, d.Waiting))))
	if n == 0 {
		return 0
	}
	for key, value := range d.Domains {
		if have, ok := e.Domain(key); ok && have != value {
			return 0
		}
	}
	if n = p.roomBesides(e, d, n); n == 0 || !p.Accepts(e, d.Group, d.Alternatives) {
		return 0
	}
	e.Free.Add(d.Need, -int64(n))
	if i := slices.IndexFunc(e.Fills, func(f Fill) bool { return f.Demand == d.Index }); i >= 0 {
		e.Fills[i].Count += n
	} else {
		e.Fills = append(e.Fills, Fill{Demand: d.Index, Count: n})
	}
	for _, a := range d.Group.Attachments {
		e.attach(a)
	}
	d.Waiting -= n
	return n
}

// roomBesides is how many units of the demand the node takes beside the pods on it, at most limit.
func (p *State) roomBesides(e *ExistingNode, d *Demand, limit int) int {
	if d.Conflicts != nil {
		for _, f := range e.Fills {
			if d.Conflicts.Has(f.Demand) {
				return 0
			}
		}
		if d.Conflicts.Has(d.Index) {
			limit = 1
		}
	}
	for _, peers := range e.antiAffinity {
		if peers.MatchesClass(p.Work.Classes, d.Group.Class) {
			return 0
		}
	}
	for i := range d.Hosts.AntiAffinity {
		if p.PodsOnExisting(e, d.Hosts.AntiAffinity[i].PodSelector) > 0 {
			return 0
		}
	}
	for _, peers := range d.Follows {
		if p.PodsOnExisting(e, peers) == 0 {
			return 0
		}
	}
	if limit = p.spreadRoom(e, d, limit); limit <= 0 {
		return 0
	}
	if len(d.Group.Attachments) > 0 {
		if !e.canAttach(d.Group.Attachments) {
			return 0
		}
		limit = 1 // Pods with volumes are each a pod group of their own.
	}
	return limit
}

// spreadRoom is how many units of the demand the spreads over hosts allow on the node, at most
// limit.
func (p *State) spreadRoom(e *ExistingNode, d *Demand, limit int) int {
	for i := range d.Hosts.Spread {
		term := &d.Hosts.Spread[i]
		// The least count of all hosts is taken as zero, as an empty new node would have.
		left := term.MaxSkew + d.HostSlack - p.PodsOnExisting(e, term.PodSelector)
		if !term.MatchesClass(p.Work.Classes, d.Group.Class) {
			if left < 0 {
				return 0
			}
			continue
		}
		limit = min(limit, left)
	}
	return limit
}

// PodsOnExisting is how many of the selected pods the node has, and will have by the plan.
func (p *State) PodsOnExisting(e *ExistingNode, wanted *workload.PodSelector) int {
	n, ok := e.running[wanted]
	if !ok {
		n = p.Work.RunningOn(e.index, wanted)
		if e.running == nil {
			e.running = map[*workload.PodSelector]int{}
		}
		e.running[wanted] = n
	}
	for _, f := range e.Fills {
		if d := p.Demands[f.Demand]; wanted.MatchesClass(p.Work.Classes, d.Group.Class) {
			n += f.Count * d.PodsPerUnit()
		}
	}
	return n
}

// Nominate notes the places on existing nodes.
func (p *State) Nominate() []plan.Nomination {
	var nominations []plan.Nomination
	for _, e := range p.Existing {
		for _, f := range e.Fills {
			d := p.Demands[f.Demand]
			for _, unit := range d.Units[:f.Count] {
				for _, pod := range unit {
					nomination := plan.Nomination{Pod: plan.RefOf(pod)}
					if e.Node.Node != nil {
						nomination.NodeName = e.Node.Node.Name
					}
					if e.Node.NodeClaim != nil {
						nomination.NodeClaimName = e.Node.NodeClaim.Name
					}
					nominations = append(nominations, nomination)
				}
			}
			d.Units = d.Units[f.Count:]
		}
	}
	return nominations
}

// missingOn are the daemons that will run on an existing node and do not yet.
func missingOn(daemons []*offering.DaemonSet, e *ExistingNode) []*offering.DaemonSet {
	var missing []*offering.DaemonSet
	for _, d := range daemons {
		if !scheduling.ToleratesAll(e.Taints, d.Tolerations) || !slices.ContainsFunc(d.Alternatives, e.MayMeet) {
			continue
		}
		if !d.HasPod(e.Node.Pods) {
			missing = append(missing, d)
		}
	}
	return missing
}

// Accepts reports whether a unit's pods may run on the node, as far as labels, taints and host
// ports go.
func (p *State) Accepts(e *ExistingNode, s *workload.Group, alternatives *workload.Alternatives) bool {
	return s.Tolerates(e.Taints) && !workload.PortsClash(s.Ports, e.ports) && e.meetsOne(alternatives.List())
}
