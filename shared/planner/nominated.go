package planner

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// readNominated fills in how many of each shape's waiting pods each starting node was planned for. Pods of a shape are as good as each other, so numbers
// are all that matters.
func (p *placements) readNominated() {
	var byUID map[string]*shape
	for _, e := range p.existing {
		if e.initialized || e.node.NodeClaim == nil || e.node.NodeClaim.Annotations[api.NominatedPodsAnnotationKey] == "" {
			continue
		}
		if byUID == nil {
			byUID = map[string]*shape{}
			for _, s := range p.work.shapes {
				for _, pod := range s.pods {
					byUID[string(pod.UID)] = s
				}
			}
		}
		e.nominated = map[*corev1.Pod]int{}
		for uid := range strings.SplitSeq(e.node.NodeClaim.Annotations[api.NominatedPodsAnnotationKey], ",") {
			if s := byUID[uid]; s != nil {
				e.nominated[s.first]++
			}
		}
	}
}

// fillNominated puts pods of the demands from first on where an earlier plan wanted them, as far as that is still possible.
func (p *placements) fillNominated(first int) {
	for _, e := range p.existing {
		if len(e.nominated) == 0 {
			continue
		}
		for _, d := range p.demands[first:] {
			if n := e.nominated[d.shape.first]; n > 0 && d.waiting > 0 {
				podsEach := len(d.units[0])
				e.nominated[d.shape.first] -= podsEach * p.fillNode(e, d, (n+podsEach-1)/podsEach)
			}
		}
	}
}
