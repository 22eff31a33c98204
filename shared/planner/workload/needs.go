package workload

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/resource"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// request is an amount of a resource, in the unit of resource.Vector.
type request struct {
	name   corev1.ResourceName
	amount int64
}

// needReader collects the requests of pod groups until all resource names are known. Only then can
// it make vectors of them.
type needReader struct {
	names []corev1.ResourceName
	// positions are those of the names, once a scan of them would be slow.
	positions map[corev1.ResourceName]int
	// amounts are the requests of all groups, one group after the other; counts is how many each has.
	amounts []amountAt
	counts  []int32
}

// amountAt is an amount of the resource at a position of needReader.names.
type amountAt struct {
	position int32
	amount   int64
}

// position finds a name, or adds it. Mostly there are few names, and a scan is quickest.
func (r *needReader) position(name corev1.ResourceName) int {
	if len(r.names) < maximumResources {
		if i := slices.Index(r.names, name); i >= 0 {
			return i
		}
	} else {
		if r.positions == nil {
			r.positions = make(map[corev1.ResourceName]int, len(r.names))
			for i, known := range r.names {
				r.positions[known] = i
			}
		}
		if i, ok := r.positions[name]; ok {
			return i
		}
		r.positions[name] = len(r.names)
	}
	r.names = append(r.names, name)
	return len(r.names) - 1
}

// add adds the requests of the next pod group.
func (r *needReader) add(requests []request) {
	for i := range requests {
		position := int32(r.position(requests[i].name))
		r.amounts = append(r.amounts, amountAt{position: position, amount: requests[i].amount})
	}
	r.counts = append(r.counts, int32(len(requests)))
}

// maximumResources is how many resources vectors count, unless something in the snapshot has more.
// Each one lengthens every vector, and a pod may name any number.
const maximumResources = 64

// countedResources returns the names, or if there are too many those that an instance type or a node
// has and that daemon sets ask for.
func (w *Workload) countedResources(names []corev1.ResourceName) []corev1.ResourceName {
	if len(names) <= maximumResources {
		return names
	}
	known := map[corev1.ResourceName]bool{}
	note := func(list corev1.ResourceList) {
		for name := range list {
			known[name] = true
		}
	}
	for _, types := range w.Snapshot.InstanceTypes {
		for i := range types {
			note(types[i].Capacity)
		}
	}
	for i := range w.Snapshot.Nodes {
		if node := w.Snapshot.Nodes[i].Node; node != nil {
			note(node.Status.Allocatable)
		}
	}
	for i := range w.Snapshot.DaemonSets {
		note(scheduling.DaemonPodRequests(&w.Snapshot.DaemonSets[i].Spec.Template))
	}
	return slices.DeleteFunc(slices.Clone(names), func(name corev1.ResourceName) bool { return !known[name] })
}

// readNeeds sets the axes and the groups' needs. The axes include what only daemon sets ask for,
// because their pods take it from every node.
func (w *Workload) readNeeds(r *needReader) {
	for i := range w.Snapshot.DaemonSets {
		for name := range scheduling.DaemonPodRequests(&w.Snapshot.DaemonSets[i].Spec.Template) {
			r.position(name)
		}
	}
	counted := w.countedResources(r.names)
	if w.attachesVolumes() {
		counted = append(slices.Clone(counted), VolumesAxis)
	}
	w.Axes = resource.NewAxes(counted)
	axes := make([]int, len(r.names))
	for i, name := range r.names {
		at, ok := w.Axes.Position[name]
		if axes[i] = at; !ok {
			axes[i] = -1
		}
	}
	width := len(w.Axes.Names)
	needs := make(resource.Vector, width*len(w.Groups))
	amounts := r.amounts
	for i, g := range w.Groups {
		g.Need, needs = needs[:width:width], needs[width:]
		for _, a := range amounts[:r.counts[i]] {
			if at := axes[a.position]; at >= 0 {
				g.Need[at] = min(a.amount, resource.MaxAmount)
			} else {
				g.refusal = missing(r.names[a.position])
			}
		}
		amounts = amounts[r.counts[i]:]
	}
	w.readVolumeNeeds()
}
