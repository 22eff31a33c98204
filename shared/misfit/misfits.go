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
	// misfitsMost and claimsMost bound the memory. A ConfigMap holds some thousands.
	misfitsMost = 2000
	claimsMost  = 20
	// boundWithin is how long the scheduler has to bind a pod to the node that was launched for it.
	boundWithin = 30 * time.Second
	// joinWithin is the age at which lifecycle gives up an instance that has not joined.
	joinWithin = 15 * time.Minute
)

// waits are how long a pod waits after the first launch that did not serve it, the second, and so on. With
// them no pod gets more than three nodes in an hour that do not serve it.
func waits() []time.Duration { return []time.Duration{time.Minute, 8 * time.Minute, time.Hour} }

// unjoinedWaits are the same after a node that has not joined, which takes a quarter of an hour to
// fail.
func unjoinedWaits() []time.Duration { return waits()[:2] }

// gangWaits are the same for the pods of a gang. Each launch for a gang costs several nodes.
func gangWaits() []time.Duration {
	return []time.Duration{10 * time.Minute, 20 * time.Minute, 40 * time.Minute, time.Hour}
}

// Misfit says of a pod that the nodes which were launched for it did not serve it.
type Misfit struct {
	// Claims are the names of the nodes' claims, the oldest first.
	Claims []string `json:"claims"`
	// Until is the time before which no further node is launched for the pod.
	Until time.Time `json:"until"`
	// Because is what kept the pod from the last node.
	Because string `json:"because"`
	// Origin names what the last claim was made from. Another origin may serve the pod at once.
	Origin Origin `json:"origin"`
}

// String says why no node is launched for the pod, and until when.
func (m Misfit) String() string {
	last := ""
	if len(m.Claims) > 0 {
		last = fmt.Sprintf(", nodeclaim %q,", m.Claims[len(m.Claims)-1])
	}
	return fmt.Sprintf("the node that was launched for the pod%s does not serve it: %s; after %d such launches the next "+
		"one is not before %s", last, m.Because, len(m.Claims), m.Until.Format(time.RFC3339))
}

// Origin is a NodePool and an EC2NodeClass as they were.
type Origin struct {
	Pool      string `json:"pool,omitempty"`
	PoolHash  string `json:"poolHash,omitempty"`
	Class     string `json:"class,omitempty"`
	ClassHash string `json:"classHash,omitempty"`
}

// originOf is what the claim was made from.
func originOf(claim *api.NodeClaim) Origin {
	origin := Origin{
		Pool:     claim.Labels[api.NodePoolLabelKey],
		PoolHash: claim.Annotations[api.NodePoolHashAnnotationKey],
	}
	origin.ClassHash = claim.Annotations[api.AnnotationEC2NodeClassHash]
	if ref := claim.Spec.NodeClassRef; ref != nil {
		origin.Class = ref.Name
	}
	return origin
}

// hasChanged reports whether the pool or the class is known to differ from what it was.
func (o Origin) hasChanged(s *plan.Snapshot) bool {
	differs := func(was, is string) bool { return was != "" && is != "" && was != is }
	for i := range s.NodePools {
		pool := &s.NodePools[i]
		if pool.Name == o.Pool && differs(o.PoolHash, pool.Annotations[api.NodePoolHashAnnotationKey]) {
			return true
		}
	}
	for i := range s.NodeClasses {
		class := &s.NodeClasses[i]
		if class.Name == o.Class && differs(o.ClassHash, class.Annotations[api.AnnotationEC2NodeClassHash]) {
			return true
		}
	}
	return false
}

// Note notes the pending pods that the node which was launched for them does not serve, so that a plan
// which cannot know the reason does not launch the same node again and again. It returns the known misfits
// of pods that still wait, with the new ones, and whether that differs from known. It forgets a misfit
// whose NodePool or EC2NodeClass has changed.
//
// A node does not serve its pod if it has never joined, if its daemon sets, taints, labels or attachments
// keep the pod away, or if the scheduler does not bind the pod there although the node has room. A node
// that other pods have filled is no misfit.
func Note(
	snapshot *plan.Snapshot, known map[string]Misfit, now time.Time,
) (misfits map[string]Misfit, changed bool) {
	pending := pendingPods(snapshot)
	misfits = map[string]Misfit{}
	for uid, misfit := range known {
		if pending[uid] != nil && !misfit.Origin.hasChanged(snapshot) {
			misfits[uid] = misfit
		}
	}
	changed = len(misfits) != len(known)
	attach := attachments{snapshot: snapshot}
	for i := range snapshot.Nodes {
		node := &snapshot.Nodes[i]
		if node.NodeClaim == nil {
			continue
		}
		for uid := range strings.SplitSeq(node.NodeClaim.Annotations[api.NominatedPodsAnnotationKey], ",") {
			pod, misfit := pending[uid], misfits[uid]
			full := len(misfits) >= misfitsMost && len(misfit.Claims) == 0
			if pod == nil || slices.Contains(misfit.Claims, node.NodeClaim.Name) || full {
				continue
			}
			because := failure(node, pod, &attach, now)
			if because == "" || originOf(node.NodeClaim).hasChanged(snapshot) {
				continue
			}
			pause := waits()
			if neverJoined(node.NodeClaim) {
				pause = unjoinedWaits()
			}
			misfits[uid] = after(misfit, node.NodeClaim, pause, because, now)
			changed = true
		}
	}
	return misfits, changed
}

// failure is why the node that was launched for the pod does not serve it, or nothing.
func failure(node *plan.Node, pod *corev1.Pod, attach *attachments, now time.Time) string {
	switch {
	case neverJoined(node.NodeClaim):
		return "its node has not joined: see the condition Registered of the claim, and the instance's console output"
	case !node.Initialized() || isTroubled(node):
		return ""
	}
	return cmp.Or(unfit(node, pod), attach.tooMany(node, pod), unbound(node, pod, now))
}

// neverJoined reports whether lifecycle has given up the claim's instance.
func neverJoined(claim *api.NodeClaim) bool {
	launched := api.GetCondition(claim.Status.Conditions, api.ConditionTypeLaunched)
	return launched != nil && claim.Status.NodeName == "" && claim.DeletionTimestamp != nil &&
		claim.DeletionTimestamp.Sub(launched.LastTransitionTime.Time) >= joinWithin
}

// unbound says that the scheduler has had the time to bind the pod to the node, which has room for it.
func unbound(node *plan.Node, pod *corev1.Pod, now time.Time) string {
	initialized := api.GetCondition(node.NodeClaim.Status.Conditions, api.ConditionTypeInitialized)
	if initialized == nil || now.Sub(initialized.LastTransitionTime.Time) < boundWithin {
		return ""
	}
	free := node.Node.Status.Allocatable.DeepCopy()
	for i := range node.Pods {
		if !scheduling.IsTerminal(&node.Pods[i]) {
			subtract(free, scheduling.PodRequests(&node.Pods[i]))
		}
	}
	for name, need := range scheduling.PodRequests(pod) {
		if have := free[name]; have.Cmp(need) < 0 {
			return ""
		}
	}
	return "the node has room for it, and the scheduler does not bind it there: kubectl describe pod says why"
}

func subtract(amounts, less corev1.ResourceList) {
	for name, quantity := range less {
		left := amounts[name]
		left.Sub(quantity)
		amounts[name] = left
	}
}

// Returned adds to the misfits the waiting pods of the gangs for a part of which the claims were launched, and
// that are given back, because EC2 has no room for the other part. The pods of that part wait with them.
func Returned(
	known map[string]Misfit, claims []*api.NodeClaim, waiting []*corev1.Pod, now time.Time,
) map[string]Misfit {
	misfits := maps.Clone(known)
	if misfits == nil {
		misfits = map[string]Misfit{}
	}
	of := map[string]*api.NodeClaim{} // by the UIDs of pods, and by the names of gangs
	for _, claim := range claims {
		of[claim.Annotations[api.GangAnnotationKey]] = claim
		for uid := range strings.SplitSeq(claim.Annotations[api.NominatedPodsAnnotationKey], ",") {
			of[uid] = claim
		}
	}
	delete(of, "")
	for _, pod := range waiting {
		uid, gang := string(pod.UID), plan.GangOf(pod)
		claim := of[uid]
		if claim == nil && gang.Name != "" {
			claim = of[gang.Namespace+"/"+gang.Name]
		}
		if claim != nil && (len(misfits) < misfitsMost || len(misfits[uid].Claims) > 0) {
			misfits[uid] = after(known[uid], claim, gangWaits(), fmt.Sprintf(
				"EC2 had room for a part of its gang only, and the %d nodes of the part were given back", len(claims)), now)
		}
	}
	return misfits
}

// after is the misfit with one more claim that did not serve the pod.
func after(known Misfit, claim *api.NodeClaim, waits []time.Duration, because string, now time.Time) Misfit {
	claims := append(slices.Clone(known.Claims), claim.Name)
	return Misfit{
		Claims: claims[max(0, len(claims)-claimsMost):], Because: because, Origin: originOf(claim),
		Until: now.Add(waits[min(len(known.Claims), len(waits)-1)]).UTC(),
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
		held = append(held, Held{Pod: plan.RefOf(&pod), Until: misfit.Until, Message: misfit.String()})
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

// pendingPods are the waiting pods that run on no node, by UID. Virtual pods wait for no scheduler, and who
// asked for them has a memory of its own.
func pendingPods(snapshot *plan.Snapshot) map[string]*corev1.Pod {
	pending := map[string]*corev1.Pod{}
	for i := range snapshot.Pods {
		if pod := &snapshot.Pods[i]; !scheduling.IsVirtual(pod) {
			pending[string(pod.UID)] = pod
		}
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
		subtract(free, scheduling.PodRequests(other))
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
