package workload

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/resource"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Workload are the pods that wait, as groups of equal ones, and what their constraints say.
type Workload struct {
	Snapshot *plan.Snapshot
	Axes     *resource.Axes
	Classes  *Classes
	// ClassesOn are the classes of the pods on each of the snapshot's nodes; nil if no constraint asks
	// for them.
	ClassesOn [][]int
	selectors map[string]*PodSelector
	// readSelectors remember the answers of podSelectorFor by its question, which termKey writes.
	// fields are the names that fieldOf gave.
	readSelectors map[string]readSelector
	termKey       podKey
	fields        map[listField]string
	Volumes       *VolumeNeeds
	// avoidableTaints says that some pool or node has a taint of effect PreferNoSchedule.
	avoidableTaints bool
	Groups          []*Group
	// waiting are the pods that wait, by UID: where they run now they do not count.
	waiting map[string]bool
}

// Read reads the pods of a snapshot.
func Read(s *plan.Snapshot) *Workload {
	p := &Workload{
		Snapshot: s, selectors: map[string]*PodSelector{}, readSelectors: map[string]readSelector{},
		fields: map[listField]string{},
	}
	p.Classes = readClasses(p.Snapshot)
	p.avoidableTaints = p.hasAvoidableTaint()
	p.readVolumes()
	p.waiting = map[string]bool{}
	if p.Classes.Any {
		for i := range p.Snapshot.Pods {
			p.waiting[string(p.Snapshot.Pods[i].UID)] = true
		}
	}
	p.readGroups()
	if p.Classes.Any {
		p.ClassesOn = make([][]int, len(p.Snapshot.Nodes))
		for i := range p.Snapshot.Nodes {
			pods := p.Snapshot.Nodes[i].Pods
			on := make([]int, len(pods))
			for j := range pods {
				on[j] = -1
				if p.CountsInDomain(&pods[j]) {
					on[j] = p.Classes.of(&pods[j])
				}
			}
			p.ClassesOn[i] = on
		}
	}
	return p
}

// CountsInDomain reports whether a pod on a node counts in its topology domain: it is there to
// stay.
func (p *Workload) CountsInDomain(pod *corev1.Pod) bool {
	return !scheduling.IsTerminal(pod) && pod.DeletionTimestamp == nil && !p.waiting[string(pod.UID)]
}

// RunningOn is how many of the selected pods run on the snapshot's node.
func (p *Workload) RunningOn(index int, wanted *PodSelector) int {
	n := 0
	for _, class := range p.ClassesOn[index] {
		if class >= 0 && wanted.MatchesClass(p.Classes, class) {
			n++
		}
	}
	return n
}

func (p *Workload) hasAvoidableTaint() bool {
	avoidable := func(taints []corev1.Taint) bool {
		return slices.ContainsFunc(
			taints,
			func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectPreferNoSchedule },
		)
	}
	return slices.ContainsFunc(
		p.Snapshot.NodePools,
		func(n api.NodePool) bool { return avoidable(n.Spec.Template.Spec.Taints) },
	) ||
		slices.ContainsFunc(p.Snapshot.Nodes,
			func(n plan.Node) bool { return n.Node != nil && avoidable(n.Node.Spec.Taints) })
}
