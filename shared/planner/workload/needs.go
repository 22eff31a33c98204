package workload

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/resource"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// needReader gathers what pod groups take before it is known of which resources there is talk at
// all.
type needReader struct {
	names []corev1.ResourceName
	// amounts are those of all pod groups, each by the position of its name; counts are how many each
	// pod group has.
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

// add adds the needs of the next pod group.
func (r *needReader) add(requests []request) {
	for i := range requests {
		r.amounts = append(r.amounts, namedAmount{name: int32(r.number(requests[i].name)), amount: requests[i].amount})
	}
	r.counts = append(r.counts, int32(len(requests)))
}

// readNeeds fills in the axes and the pod groups' needs.
func (p *Workload) readNeeds(r *needReader) {
	for i := range p.Snapshot.DaemonSets {
		for name := range scheduling.DaemonPodRequests(&p.Snapshot.DaemonSets[i].Spec.Template) {
			r.number(name)
		}
	}
	p.Axes = resource.NewAxes(r.names)
	positions := make([]int, len(r.names))
	for i, name := range r.names {
		positions[i] = p.Axes.Position[name]
	}
	width := len(p.Axes.Names)
	needs := make(resource.Vector, width*len(p.Groups))
	amounts := r.amounts
	for i, s := range p.Groups {
		s.Need, needs = needs[:width:width], needs[width:]
		for _, a := range amounts[:r.counts[i]] {
			s.Need[positions[a.name]] = min(a.amount, resource.MaxAmount)
		}
		amounts = amounts[r.counts[i]:]
	}
}

// request is an amount in a vector's unit.
type request struct {
	name   corev1.ResourceName
	amount int64
}
