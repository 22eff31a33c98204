package workload

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// daemon is a DaemonSet's pod, with its required anti-affinity.
type daemon struct {
	pod          *corev1.Pod
	antiAffinity []AffinityTerm
}

// readDaemons reads the pods that DaemonSets run, in the order of the snapshot.
func (w *Workload) readDaemons() {
	w.wantedDaemons = map[daemonTerm][]int{}
	w.daemons = make([]daemon, len(w.Snapshot.DaemonSets))
	for i := range w.Snapshot.DaemonSets {
		set := &w.Snapshot.DaemonSets[i]
		pod := &corev1.Pod{ObjectMeta: set.Spec.Template.ObjectMeta, Spec: set.Spec.Template.Spec}
		pod.Namespace = set.Namespace
		w.daemons[i] = daemon{pod: pod}
		if a := pod.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
			// Kubernetes runs no pod with a term that it cannot read.
			w.daemons[i].antiAffinity, _ = w.ReadAffinity(
				pod, a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, nil, "spec.affinity.podAntiAffinity")
		}
	}
}

// readBeside sets what the pods of DaemonSets mean for the group. Such a pod is bound before its
// node is ready, so the group's pods find it there.
func (w *Workload) readBeside(g *Group) {
	g.Beside = Beside{}
	for i := range w.daemons {
		d := &w.daemons[i]
		if keepsOff(g.Topology.AntiAffinity, d.pod) || keepsOff(d.antiAffinity, g.Pod()) {
			g.Beside.Avoided = append(g.Beside.Avoided, i)
		}
	}
	var others []AffinityTerm
	for _, term := range g.Topology.Affinity {
		if sets := w.daemonsOnly(&term); len(sets) > 0 {
			g.Beside.Wanted = append(g.Beside.Wanted, sets)
		} else {
			others = append(others, term)
		}
	}
	g.Topology.Affinity = others
}

// daemonsOnly are the DaemonSets whose pods a term over hosts or zones selects. It is empty if a
// node may meet the term without a DaemonSet of its own: if the term selects another pod too, or a
// running one by its zone.
func (w *Workload) daemonsOnly(term *AffinityTerm) []int {
	byHost := term.Key == corev1.LabelHostname
	if !byHost && term.Key != corev1.LabelTopologyZone || len(w.daemons) == 0 {
		return nil
	}
	wanted := daemonTerm{term.PodSelector, byHost}
	sets, known := w.wantedDaemons[wanted]
	if known {
		return sets
	}
	for i := range w.daemons {
		if term.Matches(w.daemons[i].pod) {
			sets = append(sets, i)
		}
	}
	if len(sets) > 0 && w.selectsOthers(term.PodSelector, byHost) {
		sets = nil
	}
	w.wantedDaemons[wanted] = sets
	return sets
}

// daemonTerm is what daemonsOnly reads of a term.
type daemonTerm struct {
	*PodSelector
	byHost bool
}

// selectsOthers reports whether the selector selects a waiting pod or a running one, without those
// of DaemonSets where beside is set.
func (w *Workload) selectsOthers(selector *PodSelector, beside bool) bool {
	for i := range w.Snapshot.Pods {
		if selector.Matches(&w.Snapshot.Pods[i]) {
			return true
		}
	}
	for i := range w.Snapshot.Nodes {
		pods := w.Snapshot.Nodes[i].Pods
		for j := range pods {
			if !(beside && scheduling.IsOwnedByDaemonSet(&pods[j])) && selector.Matches(&pods[j]) {
				return true
			}
		}
	}
	return false
}

// keepsOff reports whether one of the terms keeps the pod off the node that the terms' pod is on. A
// node has one host name and one zone. Other labels it may lack.
func keepsOff(terms []AffinityTerm, pod *corev1.Pod) bool {
	return slices.ContainsFunc(terms, func(t AffinityTerm) bool {
		return (t.Key == corev1.LabelHostname || t.Key == corev1.LabelTopologyZone) && t.Matches(pod)
	})
}

// Beside is what a group's pods mean for nodes with pods of DaemonSets, which are known by their
// places in the snapshot.
type Beside struct {
	// Avoided are those with whose pods the group's may share no node.
	Avoided []int
	// Wanted has a list for each term of affinity: a node needs a pod of one of them.
	Wanted [][]int
}

// IsZero reports whether the DaemonSets of a node do not matter.
func (b *Beside) IsZero() bool { return len(b.Avoided)+len(b.Wanted) == 0 }

// Allows reports whether the group's pods may be on a node with pods of these DaemonSets.
func (b *Beside) Allows(daemonSets []int) bool {
	has := func(i int) bool { return slices.Contains(daemonSets, i) }
	return !slices.ContainsFunc(b.Avoided, has) &&
		!slices.ContainsFunc(b.Wanted, func(sets []int) bool { return !slices.ContainsFunc(sets, has) })
}
