package planner

import (
	"strings"

	"github.com/whittle-dev/whittle/shared/plan"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// nominatedText is the annotation's value for pods.
func nominatedText(pods []plan.PodRef) string {
	length := 0
	for i := range pods {
		length += len(pods[i].UID) + 1
	}
	var text strings.Builder
	text.Grow(length)
	for i := range pods {
		if pods[i].UID == "" {
			continue
		}
		if text.Len() > 0 {
			text.WriteByte(',')
		}
		text.WriteString(pods[i].UID)
	}
	return text.String()
}

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
