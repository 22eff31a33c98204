package misfit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/workload"
	"github.com/whittle-dev/whittle/shared/scheduling"
	"github.com/whittle-dev/whittle/shared/volumes"
)

const (
	// misfitWait is how long a pod waits for another node after the first that it did not fit. Each
	// further one doubles the time, up to misfitWaitMost.
	misfitWait     = time.Minute
	misfitWaitMost = time.Hour
	// misfitsMost bounds the memory. A ConfigMap holds some thousands.
	misfitsMost = 2000
)

// Misfit says of a pod that it did not fit the initialized nodes that were launched for it.
type Misfit struct {
	// Claims are the names of the nodes' claims, the oldest first.
	Claims []string `json:"claims"`
	// Until is the time before which no further node is launched for the pod.
	Until time.Time `json:"until"`
	// Because is what kept the pod from the last node.
	Because string `json:"because"`
}

// Note notes the pending pods that do not fit the initialized node that was launched for them, so
// that a plan which cannot know the reason does not launch the same node again and again. It returns
// the known misfits of pods that still wait, with the new ones, and whether that differs from known.
//
// Only what a plan could not know counts: daemon sets, taints, labels or attachments of the node. A
// node that other pods have filled is no misfit.
func Note(
	snapshot *plan.Snapshot, known map[string]Misfit, now time.Time,
) (misfits map[string]Misfit, changed bool) {
	pending := pendingPods(snapshot)
	misfits = map[string]Misfit{}
	for uid, misfit := range known {
		if pending[uid] != nil {
			misfits[uid] = misfit
		}
	}
	changed = len(misfits) != len(known)
	attach := attachments{snapshot: snapshot}
	for i := range snapshot.Nodes {
		node := &snapshot.Nodes[i]
		if node.NodeClaim == nil || !node.Initialized() || isTroubled(node) {
			continue
		}
		for uid := range strings.SplitSeq(node.NodeClaim.Annotations[api.NominatedPodsAnnotationKey], ",") {
			pod, misfit := pending[uid], misfits[uid]
			if pod == nil || slices.Contains(misfit.Claims, node.NodeClaim.Name) || len(misfits) >= misfitsMost {
				continue
			}
			because := cmp.Or(unfit(node, pod), attach.tooMany(node, pod))
			if because == "" {
				continue
			}
			misfits[uid] = again(misfit, node.NodeClaim.Name, because, now)
			changed = true
		}
	}
	return misfits, changed
}

// again is the misfit with one more claim that the pod did not fit.
func again(known Misfit, claim, because string, now time.Time) Misfit {
	wait := misfitWaitMost
	if doublings := len(known.Claims); doublings < 6 {
		wait = min(misfitWait<<doublings, misfitWaitMost)
	}
	return Misfit{
		Claims: append(slices.Clone(known.Claims), claim), Until: now.Add(wait).UTC(), Because: because,
	}
}

// Held is a pod that waits until another node is launched for it.
type Held struct {
	Pod     plan.PodRef
	Until   time.Time
	Message string
}

// Hold takes the pods out of the snapshot for which no node is launched yet.
func Hold(snapshot *plan.Snapshot, misfits map[string]Misfit, now time.Time) []Held {
	var held []Held
	snapshot.Pods = slices.DeleteFunc(slices.Clone(snapshot.Pods), func(pod corev1.Pod) bool {
		misfit, ok := misfits[string(pod.UID)]
		if !ok || !now.Before(misfit.Until) {
			return false
		}
		held = append(held, Held{Pod: plan.RefOf(&pod), Until: misfit.Until, Message: fmt.Sprintf(
			"the pod does not fit the node that was launched for it, nodeclaim %q: %s; after %d such launches the next one "+
				"is not before %s", misfit.Claims[len(misfit.Claims)-1], misfit.Because, len(misfit.Claims),
			misfit.Until.Format(time.RFC3339))})
		return true
	})
	return held
}

// isTroubled reports whether the node takes no pods at all for a while, or for good. Its pods need
// another node at once.
func isTroubled(node *plan.Node) bool {
	return node.ClosedToPods() || node.Node.Spec.Unschedulable ||
		slices.ContainsFunc(node.Node.Spec.Taints, func(taint corev1.Taint) bool {
			return strings.HasPrefix(taint.Key, "node.kubernetes.io/") // conditions, such as not-ready
		})
}

// pendingPods are the waiting pods that run on no node, by UID.
func pendingPods(snapshot *plan.Snapshot) map[string]*corev1.Pod {
	pending := map[string]*corev1.Pod{}
	for i := range snapshot.Pods {
		pending[string(snapshot.Pods[i].UID)] = &snapshot.Pods[i]
	}
	for i := range snapshot.Nodes {
		for j := range snapshot.Nodes[i].Pods {
			delete(pending, string(snapshot.Nodes[i].Pods[j].UID)) // a pod of a leaving node
		}
	}
	delete(pending, "")
	return pending
}

// unfit is why the pod could not run on the node even if no ordinary pod ran there, or nothing.
func unfit(node *plan.Node, pod *corev1.Pod) string {
	if err := scheduling.Tolerates(node.Taints(), pod.Spec.Tolerations); err != nil {
		return fmt.Sprintf("%v: add the taint to spec.template.spec.taints of its NodePool, or a toleration to the pod", err)
	}
	alternatives, err := workload.NodeAlternatives(&pod.Spec)
	labels := node.Requirements()
	if err == nil && !slices.ContainsFunc(alternatives, func(wanted scheduling.Requirements) bool {
		return labels.Compatible(wanted, scheduling.UndefinedIsAbsent) == nil
	}) {
		return "the node has other labels than planned: set what the pod selects in spec.template.metadata.labels"
	}
	return crowded(node, pod)
}

// crowded is what the node's daemon sets and static pods leave too little of for the pod, or nothing.
func crowded(node *plan.Node, pod *corev1.Pod) string {
	free, ports := node.Node.Status.Allocatable.DeepCopy(), workload.HostPorts(&pod.Spec)
	for i := range node.Pods {
		other := &node.Pods[i]
		if scheduling.IsTerminal(other) || !scheduling.IsOwnedByDaemonSet(other) && !scheduling.IsStatic(other) {
			continue
		}
		if workload.PortsClash(ports, workload.HostPorts(&other.Spec)) {
			return fmt.Sprintf("pod %q uses the same host port: let the daemon set select other nodes, or change the port",
				other.Namespace+"/"+other.Name)
		}
		for name, quantity := range scheduling.PodRequests(other) {
			left := free[name]
			left.Sub(quantity)
			free[name] = left
		}
	}
	needs := scheduling.PodRequests(pod)
	for _, name := range slices.Sorted(maps.Keys(needs)) {
		need, have := needs[name], free[name]
		if need.Sign() > 0 && have.Cmp(need) < 0 {
			return fmt.Sprintf("it requests %s of %s, and the node has %s beside its daemon sets: check what they request",
				need.String(), name, have.String())
		}
	}
	return ""
}

// attachments counts what pods attach. It indexes the snapshot's volumes for the first pod that
// mounts any.
type attachments struct {
	snapshot *plan.Snapshot
	index    *volumes.Index
}

// tooMany is why the node cannot attach the pod's volumes even if no other pod ran there, or nothing.
func (a *attachments) tooMany(node *plan.Node, pod *corev1.Pod) string {
	if len(pod.Spec.Volumes) == 0 {
		return ""
	}
	if s := a.snapshot; a.index == nil {
		a.index = volumes.New(s.PersistentVolumeClaims, s.PersistentVolumes, s.StorageClasses, s.CSINodes)
	}
	count := map[string]int{}
	for _, attachment := range a.index.Attachments(pod) {
		count[attachment.Driver]++
	}
	limits := a.index.Limits(node.Node.Name)
	for _, driver := range slices.Sorted(maps.Keys(count)) {
		if limit, known := limits[driver]; known && count[driver] > limit {
			return fmt.Sprintf("it needs to attach %d volumes of %s, and the node attaches %d: let it select larger types",
				count[driver], driver, limit)
		}
	}
	return ""
}
