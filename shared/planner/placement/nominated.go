package placement

import (
	"strings"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/workload"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// readNominated fills in how many waiting pods of each group an earlier plan nominated each node in
// flight for. Pods of a group are interchangeable, so only their number matters.
func (s *State) readNominated() {
	var byUID map[string]*workload.Group
	for _, e := range s.Existing {
		if e.initialized || e.Node.NodeClaim == nil || e.Node.NodeClaim.Annotations[api.NominatedPodsAnnotationKey] == "" {
			continue
		}
		if byUID == nil {
			byUID = map[string]*workload.Group{}
			for _, g := range s.Work.Groups {
				for _, pod := range g.Pods {
					byUID[string(pod.UID)] = g
				}
			}
		}
		e.Nominated = map[*corev1.Pod]int{}
		for uid := range strings.SplitSeq(e.Node.NodeClaim.Annotations[api.NominatedPodsAnnotationKey], ",") {
			if g := byUID[uid]; g != nil {
				e.Nominated[g.First]++
			}
		}
	}
}

// fillNominated puts pods of the demands from first on where an earlier plan nominated them, if
// that is still possible.
func (s *State) fillNominated(first int) {
	for _, e := range s.Existing {
		if len(e.Nominated) == 0 {
			continue
		}
		for _, d := range s.Demands[first:] {
			if n := e.Nominated[d.Group.First]; n > 0 && d.Waiting > 0 {
				podsEach := len(d.Units[0])
				e.Nominated[d.Group.First] -= podsEach * s.FillNode(e, d, (n+podsEach-1)/podsEach)
			}
		}
	}
}

// Nominate lists the pods on existing nodes. It takes their units off the demands, so that package
// claims writes the rest.
func (s *State) Nominate() []plan.Nomination {
	var nominations []plan.Nomination
	for _, e := range s.Existing {
		for _, f := range e.Fills {
			d := s.Demands[f.Demand]
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
