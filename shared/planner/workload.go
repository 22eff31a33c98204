package planner

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// workload are the pods that wait, as groups of equal ones, and what their constraints say.
type workload struct {
	snapshot   *plan.Snapshot
	axes       *axes
	podClasses *podClasses
	// classesOn are the classes of the pods on each of the snapshot's nodes; nil if no constraint asks for them.
	classesOn [][]int
	peers     map[string]*peers
	// chosenPeers are what peersFor gave, by what it was asked for, which is written by termKey. fields are the names that fieldOf gave.
	chosenPeers map[string]chosenPeers
	termKey     podKey
	fields      map[indexed]string
	volumes     *volumeNeeds
	// avoidable says that some pool or node has a taint of effect PreferNoSchedule.
	avoidable bool
	shapes    []*shape
	// moving are the pods that wait, by UID: where they run now they do not count.
	moving map[string]bool
}

// readWorkload reads the pods of a snapshot.
func readWorkload(s *plan.Snapshot) *workload {
	p := &workload{
		snapshot: s, peers: map[string]*peers{}, chosenPeers: map[string]chosenPeers{}, fields: map[indexed]string{},
	}
	p.podClasses = readClasses(p.snapshot)
	p.avoidable = p.hasAvoidableTaint()
	p.readVolumes()
	p.moving = map[string]bool{}
	if p.podClasses.any {
		for i := range p.snapshot.Pods {
			p.moving[string(p.snapshot.Pods[i].UID)] = true
		}
	}
	p.readShapes()
	if p.podClasses.any {
		p.classesOn = make([][]int, len(p.snapshot.Nodes))
		for i := range p.snapshot.Nodes {
			pods := p.snapshot.Nodes[i].Pods
			on := make([]int, len(pods))
			for j := range pods {
				on[j] = -1
				if p.counts(&pods[j]) {
					on[j] = p.podClasses.of(&pods[j])
				}
			}
			p.classesOn[i] = on
		}
	}
	return p
}

// counts reports whether a pod on a node counts in its topology domain: it is there to stay.
func (p *workload) counts(pod *corev1.Pod) bool {
	return !scheduling.IsTerminal(pod) && pod.DeletionTimestamp == nil && !p.moving[string(pod.UID)]
}

// runningOn is how many of the peers run on the snapshot's node.
func (p *workload) runningOn(index int, wanted *peers) int {
	n := 0
	for _, class := range p.classesOn[index] {
		if class >= 0 && wanted.matchClass(p.podClasses, class) {
			n++
		}
	}
	return n
}

func (p *workload) hasAvoidableTaint() bool {
	avoidable := func(taints []corev1.Taint) bool {
		return slices.ContainsFunc(taints, func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectPreferNoSchedule })
	}
	return slices.ContainsFunc(p.snapshot.NodePools, func(n api.NodePool) bool { return avoidable(n.Spec.Template.Spec.Taints) }) ||
		slices.ContainsFunc(p.snapshot.Nodes, func(n plan.Node) bool { return n.Node != nil && avoidable(n.Node.Spec.Taints) })
}
