package placement

import (
	"cmp"
	"maps"
	"math"
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

// ExistingNode is a node that exists or is in flight, and that can take pods.
type ExistingNode struct {
	Node *plan.Node
	// index is the node's position in the snapshot.
	index int
	// labels are the node's labels. In flight, a label has several values where the claim allows them.
	labels scheduling.Requirements
	Taints []corev1.Taint
	// types are the instance types that a node in flight may be. It is nil once the labels say it all.
	types []*catalog.InstanceType
	// Free is what the pods on the node, its DaemonSets and the plan leave.
	Free  resource.Vector
	ports []workload.HostPort
	// daemonSets are those, by their places in the snapshot, whose pods are on the node or still to
	// come.
	daemonSets []int
	// running remembers how many pods of a selector run on the node.
	running map[*workload.PodSelector]int
	// antiAffinity are the selectors of required anti-affinity of pods on the node.
	antiAffinity []*workload.PodSelector
	volumes      attachedVolumes
	// initialized says that the node is ready for pods, and not in flight.
	initialized bool
	// Nominated is how many pods of a group, by its first pod, an earlier plan nominated the node for.
	// It is nil for other nodes and for initialized ones.
	Nominated map[*corev1.Pod]int
	// Fills are what the plan puts on the node.
	Fills []Fill
}

// readExisting fills in the nodes that can take pods. Initialized ones come first, then the order
// is by rank and name.
func (s *State) readExisting() {
	daemonSets := offering.ReadDaemonSets(s.Work.Snapshot.DaemonSets, s.Work.Axes)
	for i := range s.Work.Snapshot.Nodes {
		if node := &s.Work.Snapshot.Nodes[i]; !node.ClosedToPods() {
			e := s.readNode(node, daemonSets)
			e.index = i
			s.Existing = append(s.Existing, e)
		}
	}
	slices.SortFunc(s.Existing, func(a, b *ExistingNode) int {
		return cmp.Or(-CompareBools(a.initialized, b.initialized), cmp.Compare(a.Node.Rank, b.Node.Rank),
			strings.Compare(a.Node.Name(), b.Node.Name()))
	})
}

// readNode reads what the node has, without what its pods and DaemonSets take.
func (s *State) readNode(node *plan.Node, daemonSets []*offering.DaemonSet) *ExistingNode {
	e := &ExistingNode{Node: node, initialized: node.Initialized()}
	var allocatable corev1.ResourceList
	if e.initialized {
		e.labels, allocatable = node.Requirements(), node.Allocatable()
	} else {
		allocatable = s.readInFlight(e)
	}
	e.Taints = node.Taints()
	e.Free = s.Work.Axes.Supply(allocatable)
	if axis, counted := s.Work.Axes.Position[workload.VolumesAxis]; counted {
		e.Free[axis] = math.MaxInt64 / 2 // its volumes are counted one by one
	}
	for i := range node.Pods {
		pod := &node.Pods[i]
		if scheduling.IsTerminal(pod) {
			continue
		}
		s.Work.Axes.Take(e.Free, pod)
		e.ports = workload.AppendHostPorts(e.ports, &pod.Spec)
		s.readRunning(e, pod)
	}
	e.volumes.limits = s.volumeLimits(e)
	for _, d := range daemonSets {
		switch {
		case d.HasPod(node.Pods):
		case e.awaits(d):
			e.Free.Sub(d.Need)
			e.ports = append(e.ports, d.Ports...)
		default:
			continue
		}
		e.daemonSets = append(e.daemonSets, d.Index)
	}
	return e
}

// volumeLimits are the limits of a node's volumes by driver. Before the EBS driver has said its own,
// they follow from the instance types.
func (s *State) volumeLimits(e *ExistingNode) map[string]int {
	var limits map[string]int
	if e.Node.Node != nil {
		limits = s.Work.Volumes.Limits(e.Node.Node.Name)
	}
	if _, ok := limits[volumes.EBSDriver]; ok || e.initialized || len(e.types) == 0 {
		return limits
	}
	least := s.Work.Volumes.VolumesOf(e.types[0])
	for _, typ := range e.types[1:] {
		least = min(least, s.Work.Volumes.VolumesOf(typ))
	}
	limits = maps.Clone(limits)
	if limits == nil {
		limits = map[string]int{}
	}
	limits[volumes.EBSDriver] = least
	return limits
}

// readInFlight fills in the labels and instance types of a node in flight. It returns what pods may
// use of it.
func (s *State) readInFlight(e *ExistingNode) corev1.ResourceList {
	e.labels = scheduling.Requirements{}
	claim, node := e.Node.NodeClaim, e.Node.Node
	if requirements, err := scheduling.FromTerms(claim.Spec.Requirements); err == nil {
		e.labels = requirements
	}
	plan.OverrideLabels(e.labels, claim.Labels)
	e.types = s.Offers.ClaimTypes(claim)
	allocatable := s.Offers.ClaimAllocatable(claim, e.types)
	if node == nil {
		return allocatable
	}
	if !e.Node.Unregistered() {
		plan.OverrideLabels(e.labels, node.Labels)
	}
	plan.AddNames(e.labels, node)
	for name, quantity := range e.Node.Allocatable() {
		// A node reports no devices before their plug-in runs. The claim knows how many it will have.
		if !quantity.IsZero() {
			allocatable[name] = quantity
		}
	}
	return allocatable
}

// readRunning reads the anti-affinity and the volumes of a pod on the node.
func (s *State) readRunning(e *ExistingNode, pod *corev1.Pod) {
	if a := pod.Spec.Affinity; a != nil && a.PodAntiAffinity != nil && s.Work.CountsInDomain(pod) {
		// The scheduler has bound the pod although it could not read an invalid term.
		terms, _ := s.Work.ReadAffinity(
			pod, a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, nil, "spec.affinity.podAntiAffinity",
		)
		for _, term := range terms {
			if term.Key == corev1.LabelHostname && !slices.Contains(e.antiAffinity, term.PodSelector) {
				e.antiAffinity = append(e.antiAffinity, term.PodSelector)
			}
		}
	}
	if len(pod.Spec.Volumes) == 0 || len(s.Work.Snapshot.CSINodes) == 0 {
		return
	}
	for _, attachment := range s.Work.Volumes.Attachments(pod) {
		e.volumes.attach(attachment)
	}
}

// awaits reports whether the DaemonSet, which has no pod on the node yet, will run one there.
func (e *ExistingNode) awaits(d *offering.DaemonSet) bool {
	alternatives := d.Alternatives
	if !e.initialized {
		alternatives = d.Starting
	}
	return scheduling.ToleratesAll(e.Taints, d.Tolerations) && slices.ContainsFunc(alternatives, e.MayMeet)
}
