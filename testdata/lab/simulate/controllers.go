package simulate

import (
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/apiserver"
)

// controllers starts those controllers of a cluster that look again and again.
func (r *Run) controllers() {
	r.engine.Every(5*time.Second, 5*time.Second, r.watchNodes)
	r.engine.Every(20*time.Second, 20*time.Second, r.collectPods)
	r.engine.Every(10*time.Second, 10*time.Second, r.attachVolumes)
	r.engine.Every(10*time.Second, 20*time.Second, r.forgetNodes)
	r.engine.Every(time.Minute, time.Minute, r.bookmark)
	r.engine.Every(time.Minute, time.Minute, r.expireEvents)
	r.engine.Every(busyEvery, busyEvery, r.noteBusy)
	r.engine.Every(30*time.Second, 30*time.Second, func() {
		r.changed = true // some invariants need time
		r.lively()
		r.notePrice()
	})
}

// react lets controllers and kubelets see a change.
func (r *Run) react(change apiserver.Change) {
	object := change.After
	if object == nil {
		object = change.Before
	}
	switch object.Kind {
	case apiserver.Pods:
		r.soon("scheduler", 20*time.Millisecond, 500*time.Millisecond, r.schedule)
		r.soon("replicas", 50*time.Millisecond, time.Second, r.replicate)
		r.soon("volumes", 100*time.Millisecond, 2*time.Second, r.attachVolumes)
		r.soon("budgets", 50*time.Millisecond, time.Second, r.countBudgets)
		pod, _ := object.Typed.(*corev1.Pod)
		r.noteBinding(change)
		r.serves(pod)
		r.kubeletSees(pod, change.After == nil)
	case apiserver.Requests:
		r.soon("jobs", 100*time.Millisecond, 3*time.Second, r.startJobs)
	case apiserver.Nodes:
		node, _ := object.Typed.(*corev1.Node)
		r.kubeletSeesNode(node, change.After == nil)
		r.soon("daemons", 10*time.Millisecond, 200*time.Millisecond, r.tend)
		r.soon("scheduler", 20*time.Millisecond, 500*time.Millisecond, r.schedule)
	}
}

// noteBinding notes that a function gave a pod its node.
func (r *Run) noteBinding(change apiserver.Change) {
	if change.Before == nil || change.After == nil {
		return
	}
	before, _ := change.Before.Typed.(*corev1.Pod)
	after, _ := change.After.Typed.(*corev1.Pod)
	if before.Spec.NodeName == "" && after.Spec.NodeName != "" && r.scheduling != after.UID {
		r.bound[after.UID] = true
		r.result.Bound++
	}
}

// schedule binds pods to nodes with room, as kube-scheduler does.
func (r *Run) schedule() {
	nodes := apiserver.List[corev1.Node](r.store, apiserver.Nodes)
	pods := apiserver.List[corev1.Pod](r.store, apiserver.Pods)
	rooms := map[string]*room{}
	for _, node := range nodes {
		rooms[node.Name] = r.roomOf(node)
	}
	for _, pod := range pods {
		if left := rooms[pod.Spec.NodeName]; left != nil && pod.Status.Phase != corev1.PodFailed {
			left.take(pod)
		}
	}
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(pinnedTo(b), pinnedTo(a)) })
	now := metav1.Now()
	for n, pod := range pods {
		if pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil {
			continue
		}
		var chosen *corev1.Node
		r.scheduling = pod.UID
		if !r.waitsForOthers(pod, nodes, rooms, pods) {
			chosen = r.choose(pod, nodes, rooms, r.fullZones(pod, nodes, pods), company(pod, nodes, pods))
		}
		apiserver.Update(r.store, apiserver.Pods, pod.Namespace, pod.Name, func(stored *corev1.Pod) bool {
			if chosen == nil {
				return setCondition(stored, corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonUnschedulable, now)
			}
			stored.Spec.NodeName = chosen.Name
			pods[n] = stored // its zone counts
			return setCondition(stored, corev1.PodScheduled, corev1.ConditionTrue, "", now) || true
		})
		if chosen != nil {
			rooms[chosen.Name].take(pod)
		}
	}
	r.scheduling = ""
}

// room is what is left on a node.
type room struct{ cpu, memory, pods, volumes int64 }

func (r *Run) roomOf(node *corev1.Node) *room {
	size := node.Status.Allocatable
	return &room{size.Cpu().MilliValue(), size.Memory().Value(), size.Pods().Value(), r.volumeLimit(node.Name)}
}

func (l *room) take(pod *corev1.Pod) {
	cpu, memory := requests(pod)
	l.cpu, l.memory, l.pods = l.cpu-cpu, l.memory-memory, l.pods-1
	if volumeOf(pod) != "" {
		l.volumes--
	}
}

func (l *room) fits(pod *corev1.Pod) bool {
	cpu, memory := requests(pod)
	return cpu <= l.cpu && memory <= l.memory && l.pods > 0 && (volumeOf(pod) == "" || l.volumes > 0)
}

// choose returns the node for a pod, first the nominated one, or nil. Full are the zones that have
// no place for it. It prefers a node without a soft taint, then one with few pods of its workload, by
// the counts, and then one with much room.
func (r *Run) choose(
	pod *corev1.Pod, nodes []*corev1.Node, rooms map[string]*room, full map[string]bool, counts map[string]int,
) *corev1.Node {
	better := func(a, b *corev1.Node) bool {
		if softA, softB := avoids(pod, a), avoids(pod, b); softA != softB {
			return softB
		}
		return counts[a.Name] < counts[b.Name] || counts[a.Name] == counts[b.Name] && rooms[a.Name].cpu > rooms[b.Name].cpu
	}
	var best *corev1.Node
	for _, node := range nodes {
		if full[node.Labels[corev1.LabelTopologyZone]] || !r.mayRun(pod, node) || !rooms[node.Name].fits(pod) {
			continue
		}
		if node.Name == pod.Status.NominatedNodeName {
			return node
		}
		if best == nil || better(node, best) {
			best = node
		}
	}
	return best
}

// avoids reports whether the node has a soft taint that the pod does not tolerate.
func avoids(pod *corev1.Pod, node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		return taint.Effect == corev1.TaintEffectPreferNoSchedule && !tolerates(pod, &taint)
	})
}

func (r *Run) mayRun(pod *corev1.Pod, node *corev1.Node) bool {
	if zone := r.zones[volumeOf(pod)]; zone != "" && node.Labels[corev1.LabelTopologyZone] != zone {
		return false
	}
	if slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		return taint.Effect != corev1.TaintEffectPreferNoSchedule && !tolerates(pod, &taint)
	}) {
		return false
	}
	if pinned := pinnedTo(pod); pinned != "" {
		return pinned == node.Name
	}
	return selects(pod, node) && !node.Spec.Unschedulable && node.DeletionTimestamp == nil
}

func tolerates(pod *corev1.Pod, taint *corev1.Taint) bool {
	return slices.ContainsFunc(pod.Spec.Tolerations, func(toleration corev1.Toleration) bool {
		return toleration.ToleratesTaint(klog.Background(), taint, false)
	})
}

// countBudgets writes what disruption budgets allow.
func (r *Run) countBudgets() {
	pods := apiserver.List[corev1.Pod](r.store, apiserver.Pods)
	for _, budget := range apiserver.List[policyv1.PodDisruptionBudget](r.store, apiserver.Budgets) {
		if r.uncounted(budget.Name) {
			continue
		}
		expected, healthy := int32(0), int32(0)
		for _, pod := range pods {
			if pod.Labels["app"] != budget.Name {
				continue
			}
			expected++
			if podReady(pod) && pod.DeletionTimestamp == nil {
				healthy++
			}
		}
		desired := max(expected-budget.Spec.MaxUnavailable.IntVal, 0)
		apiserver.Update(r.store, apiserver.Budgets, budget.Namespace, budget.Name,
			func(stored *policyv1.PodDisruptionBudget) bool {
				stored.Status = policyv1.PodDisruptionBudgetStatus{
					ObservedGeneration: stored.Generation, ExpectedPods: expected, CurrentHealthy: healthy, DesiredHealthy: desired,
					DisruptionsAllowed: max(healthy-desired, 0), Conditions: stored.Status.Conditions,
				}
				return true
			})
	}
}

const (
	// silence is how long a kubelet may be silent before its node counts as unreachable.
	silence = 40 * time.Second
	// toleration is how long pods stay on a node that is not reachable.
	toleration = 5 * time.Minute
)

// watchNodes taints nodes by the heartbeats of their kubelets, and evicts pods from silent ones, as the
// node lifecycle controller does.
func (r *Run) watchNodes() {
	now := metav1.Now()
	for _, node := range apiserver.List[corev1.Node](r.store, apiserver.Nodes) {
		heard := node.CreationTimestamp.Time
		if lease := r.store.Get(apiserver.Leases, corev1.NamespaceNodeLease, node.Name); lease != nil {
			if typed, ok := lease.Typed.(*coordinationv1.Lease); ok && typed.Spec.RenewTime != nil {
				heard = typed.Spec.RenewTime.Time
			}
		}
		silent := now.Sub(heard) > silence
		if tainted := *node; !silent && !taintByCondition(&tainted, now) {
			continue
		}
		apiserver.Update(r.store, apiserver.Nodes, "", node.Name, func(stored *corev1.Node) bool {
			changed := false
			if silent {
				changed = setReady(stored, corev1.ConditionUnknown, "NodeStatusUnknown", now)
			}
			return taintByCondition(stored, now) || changed
		})
		if silent && now.Sub(heard) > silence+toleration {
			r.evictAll(node)
		}
	}
}

// setReady sets the node's condition Ready, and reports whether it is new.
func setReady(node *corev1.Node, status corev1.ConditionStatus, reason string, now metav1.Time) bool {
	for i := range node.Status.Conditions {
		condition := &node.Status.Conditions[i]
		if condition.Type == corev1.NodeReady {
			if condition.Status == status {
				return false
			}
			condition.Status, condition.Reason, condition.LastTransitionTime = status, reason, now
			return true
		}
	}
	return false
}

func readiness(node *corev1.Node) corev1.ConditionStatus {
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == corev1.NodeReady {
			return node.Status.Conditions[i].Status
		}
	}
	return corev1.ConditionUnknown
}

// taintByCondition gives the node the taints of its condition Ready, and reports whether they are new.
func taintByCondition(node *corev1.Node, now metav1.Time) bool {
	wanted := map[corev1.ConditionStatus]string{
		corev1.ConditionFalse: corev1.TaintNodeNotReady, corev1.ConditionUnknown: corev1.TaintNodeUnreachable,
	}[readiness(node)]
	kept := slices.DeleteFunc(slices.Clone(node.Spec.Taints), func(taint corev1.Taint) bool {
		managed := taint.Key == corev1.TaintNodeNotReady || taint.Key == corev1.TaintNodeUnreachable
		return managed && taint.Key != wanted
	})
	has := slices.ContainsFunc(kept, func(taint corev1.Taint) bool { return taint.Key == wanted })
	if wanted != "" && !has {
		for _, effect := range []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute} {
			kept = append(kept, corev1.Taint{Key: wanted, Effect: effect, TimeAdded: &now})
		}
	}
	if len(kept) == len(node.Spec.Taints) && (wanted == "" || has) {
		return false
	}
	node.Spec.Taints = kept
	return true
}

// evictAll deletes the pods of a node that has been silent for long.
func (r *Run) evictAll(node *corev1.Node) {
	for _, pod := range apiserver.List[corev1.Pod](r.store, apiserver.Pods) {
		if pod.Spec.NodeName != node.Name || pod.DeletionTimestamp != nil || isDaemon(pod) {
			continue
		}
		if object := r.store.Get(apiserver.Pods, pod.Namespace, pod.Name); object != nil {
			r.evictions[string(pod.UID)] = "taint eviction"
			r.store.Delete(object, nil)
		}
	}
}

// collectPods removes the pods of nodes that have gone or are out of service, as the controller for the
// garbage collection of pods does.
func (r *Run) collectPods() {
	for _, pod := range apiserver.List[corev1.Pod](r.store, apiserver.Pods) {
		if pod.Spec.NodeName == "" {
			continue
		}
		object := r.store.Get(apiserver.Nodes, "", pod.Spec.NodeName)
		if object == nil {
			r.evictions[string(pod.UID)] = "its node has gone"
			r.store.Remove(apiserver.Pods, pod.Namespace, pod.Name, pod.UID)
			continue
		}
		node, _ := object.Typed.(*corev1.Node)
		out := slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
			return taint.Key == corev1.TaintNodeOutOfService
		})
		if out && pod.DeletionTimestamp != nil && readiness(node) != corev1.ConditionTrue {
			r.store.Remove(apiserver.Pods, pod.Namespace, pod.Name, pod.UID)
		}
	}
}

// forgetNodes deletes the nodes of instances that have ended, as the cloud controller does.
func (r *Run) forgetNodes() {
	ended := map[string]bool{}
	known := map[string]bool{}
	for _, instance := range r.copied() {
		known[instance.ProviderID()] = true
		ended[instance.ProviderID()] = instance.State == ec2.Terminated
	}
	for _, node := range apiserver.List[corev1.Node](r.store, apiserver.Nodes) {
		if node.DeletionTimestamp != nil || known[node.Spec.ProviderID] && !ended[node.Spec.ProviderID] {
			continue
		}
		if object := r.store.Get(apiserver.Nodes, "", node.Name); object != nil {
			r.trace("the cloud controller deletes node %s", node.Name)
			r.store.Delete(object, nil)
		}
	}
}

// expireEvents removes old events, so that lists stay short.
func (r *Run) expireEvents() {
	for _, event := range apiserver.List[corev1.Event](r.store, apiserver.Events) {
		if time.Since(event.CreationTimestamp.Time) > time.Hour {
			r.store.Remove(apiserver.Events, event.Namespace, event.Name, event.UID)
		}
	}
}
