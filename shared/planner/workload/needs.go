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
	// amounts are the requests of all groups, one group after the other; counts is how many each has.
	amounts []amountAt
	counts  []int32
}

// amountAt is an amount of the resource at a position of needReader.names.
type amountAt struct {
	position int32
	amount   int64
}

// position finds a name, or adds it. There are few names, so a scan is quick.
func (r *needReader) position(name corev1.ResourceName) int {
	i := slices.Index(r.names, name)
	if i < 0 {
		i = len(r.names)
		r.names = append(r.names, name)
	}
	return i
}

// add adds the requests of the next pod group.
func (r *needReader) add(requests []request) {
	for i := range requests {
		position := int32(r.position(requests[i].name))
		r.amounts = append(r.amounts, amountAt{position: position, amount: requests[i].amount})
	}
	r.counts = append(r.counts, int32(len(requests)))
}

// readNeeds sets the axes and the groups' needs. The axes include what only daemon sets ask for,
// because their pods take it from every node.
func (w *Workload) readNeeds(r *needReader) {
	for i := range w.Snapshot.DaemonSets {
		for name := range scheduling.DaemonPodRequests(&w.Snapshot.DaemonSets[i].Spec.Template) {
			r.position(name)
		}
	}
	w.Axes = resource.NewAxes(r.names)
	axes := make([]int, len(r.names))
	for i, name := range r.names {
		axes[i] = w.Axes.Position[name]
	}
	width := len(w.Axes.Names)
	needs := make(resource.Vector, width*len(w.Groups))
	amounts := r.amounts
	for i, g := range w.Groups {
		g.Need, needs = needs[:width:width], needs[width:]
		for _, a := range amounts[:r.counts[i]] {
			g.Need[axes[a.position]] = min(a.amount, resource.MaxAmount)
		}
		amounts = amounts[r.counts[i]:]
	}
}
