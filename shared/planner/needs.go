package planner

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// needReader gathers what shapes take before it is known of which resources there is talk at all.
type needReader struct {
	names []corev1.ResourceName
	// amounts are those of all shapes, each by the position of its name; counts are how many each shape has.
	amounts []namedAmount
	counts  []int32
}

// namedAmount is an amount of the resource whose name has this position.
type namedAmount struct {
	name   int32
	amount int64
}

// number is the position of a name; there are a handful of them.
func (r *needReader) number(name corev1.ResourceName) int {
	i := slices.Index(r.names, name)
	if i < 0 {
		i = len(r.names)
		r.names = append(r.names, name)
	}
	return i
}

// add adds the needs of the next shape.
func (r *needReader) add(requests []requested) {
	for i := range requests {
		r.amounts = append(r.amounts, namedAmount{name: int32(r.number(requests[i].name)), amount: requests[i].amount})
	}
	r.counts = append(r.counts, int32(len(requests)))
}

// readNeeds fills in the axes and the shapes' needs.
func (p *workload) readNeeds(r *needReader) {
	for i := range p.snapshot.DaemonSets {
		for name := range scheduling.DaemonPodRequests(&p.snapshot.DaemonSets[i].Spec.Template) {
			r.number(name)
		}
	}
	p.axes = newAxes(r.names)
	positions := make([]int, len(r.names))
	for i, name := range r.names {
		positions[i] = p.axes.position[name]
	}
	width := len(p.axes.names)
	needs := make(vector, width*len(p.shapes))
	amounts := r.amounts
	for i, s := range p.shapes {
		s.need, needs = needs[:width:width], needs[width:]
		for _, a := range amounts[:r.counts[i]] {
			s.need[positions[a.name]] = min(a.amount, beyond)
		}
		amounts = amounts[r.counts[i]:]
	}
}

// requested is an amount in a vector's unit.
type requested struct {
	name   corev1.ResourceName
	amount int64
}
