package workload

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/resource"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Workload is the waiting pods of a snapshot as groups, with their constraints.
type Workload struct {
	Snapshot *plan.Snapshot
	// Axes are the resources that waiting pods and daemon sets ask for.
	Axes   *resource.Axes
	Groups []*Group
	// Volumes are the volumes of the snapshot.
	Volumes *VolumeNeeds
	Classes *Classes
	// ClassesOn has the selector class of each pod on each node of the snapshot. It is -1 for a pod
	// that does not count in its domain. ClassesOn is nil if no constraint selects pods.
	ClassesOn [][]int
	// selectors are the pod selectors so far, by their keys.
	selectors map[string]*PodSelector
	// selectorResults memoises podSelectorFor, by keys that selectorKey writes.
	selectorResults map[string]selectorResult
	selectorKey     keyWriter
	// fields memoises fieldOf.
	fields map[listField]string
	// avoidableTaints says that some NodePool or node has a taint of effect PreferNoSchedule.
	avoidableTaints bool
	// daemons are the pods of the snapshot's DaemonSets.
	daemons []daemon
	// wantedDaemons memoises daemonsOnly.
	wantedDaemons map[daemonTerm][]int
	// waiting has the UIDs of the waiting pods. It is empty if no constraint selects pods.
	waiting map[string]bool
}

// Read reads the pods of a snapshot. The Workload keeps the snapshot, and does not change it.
func Read(s *plan.Snapshot) *Workload {
	w := &Workload{
		Snapshot: s, selectors: map[string]*PodSelector{}, selectorResults: map[string]selectorResult{},
		fields: map[listField]string{},
	}
	w.Classes = readClasses(s)
	w.avoidableTaints = w.hasAvoidableTaint()
	w.readVolumes()
	w.waiting = map[string]bool{}
	if w.Classes.Any {
		for i := range s.Pods {
			w.waiting[string(s.Pods[i].UID)] = true
		}
	}
	w.readDaemons()
	w.readGroups()
	w.admit()
	if w.Classes.Any {
		w.readClassesOn()
	}
	return w
}

// readClassesOn sets ClassesOn.
func (w *Workload) readClassesOn() {
	w.ClassesOn = make([][]int, len(w.Snapshot.Nodes))
	for i := range w.Snapshot.Nodes {
		pods := w.Snapshot.Nodes[i].Pods
		on := make([]int, len(pods))
		for j := range pods {
			on[j] = -1
			if w.CountsInDomain(&pods[j]) {
				on[j] = w.Classes.of(&pods[j])
			}
		}
		w.ClassesOn[i] = on
	}
}

// CountsInDomain reports whether constraints count a pod on a node. A pod that has ended, that is
// being deleted, or that this plan places anew does not count.
func (w *Workload) CountsInDomain(pod *corev1.Pod) bool {
	return !scheduling.IsTerminal(pod) && pod.DeletionTimestamp == nil && !w.waiting[string(pod.UID)]
}

// RunningOn is the number of selected pods on the node with this index in the snapshot. There must
// be a constraint that selects pods.
func (w *Workload) RunningOn(index int, selector *PodSelector) int {
	n := 0
	for _, class := range w.ClassesOn[index] {
		if class >= 0 && selector.MatchesClass(w.Classes, class) {
			n++
		}
	}
	return n
}

func (w *Workload) hasAvoidableTaint() bool {
	avoidable := func(taints []corev1.Taint) bool {
		return slices.ContainsFunc(
			taints,
			func(t corev1.Taint) bool {
				return t.Effect == corev1.TaintEffectPreferNoSchedule && !api.IsCandidateTaint(t)
			},
		)
	}
	return slices.ContainsFunc(
		w.Snapshot.NodePools,
		func(n api.NodePool) bool { return avoidable(n.Spec.Template.Spec.Taints) },
	) ||
		slices.ContainsFunc(w.Snapshot.Nodes,
			func(n plan.Node) bool { return n.Node != nil && avoidable(n.Node.Spec.Taints) })
}
