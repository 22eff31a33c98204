package placement

import (
	"strings"

	"github.com/whittle-dev/whittle/shared/planner/workload"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// readNominated fills in how many of each pod group's waiting pods each starting node was planned
// for. Pods of a pod group are as good as each other, so numbers are all that matters.
func (p *State) readNominated() {
	var byUID map[string]*workload.Group
	for _, e := range p.Existing {
		if e.initialized || e.Node.NodeClaim == nil || e.Node.NodeClaim.Annotations[api.NominatedPodsAnnotationKey] == "" {
			continue
		}
		if byUID == nil {
			byUID = map[string]*workload.Group{}
			for _, s := range p.Work.Groups {
				for _, pod := range s.Pods {
					byUID[string(pod.UID)] = s
				}
			}
		}
		e.Nominated = map[*corev1.Pod]int{}
		for uid := range strings.SplitSeq(e.Node.NodeClaim.Annotations[api.NominatedPodsAnnotationKey], ",") {
			if s := byUID[uid]; s != nil {
				e.Nominated[s.First]++
			}
		}
	}
}

// fillNominated puts pods of the demands from first on where an earlier plan wanted them, as far as
// that is still possible.
func (p *State) fillNominated(first int) {
	for _, e := range p.Existing {
		if len(e.Nominated) == 0 {
			continue
		}
		for _, d := range p.Demands[first:] {
			if n := e.Nominated[d.Group.First]; n > 0 && d.Waiting > 0 {
				podsEach := len(d.Units[0])
				e.Nominated[d.Group.First] -= podsEach * p.FillNode(e, d, (n+podsEach-1)/podsEach)
			}
		}
	}
}
