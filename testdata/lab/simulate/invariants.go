package simulate

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/registration"
	"github.com/whittle-dev/whittle/shared/scheduling"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/laws"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/apiserver"
)

// unclaimedGrace is how long an instance may run without a claim. Lists of EC2 lag by a minute here, and a
// launch may arrive two minutes late.
const unclaimedGrace = 10 * time.Minute

// world is what the laws see now.
func (r *Run) world() *laws.World {
	return &laws.World{
		Now:         time.Now(),
		Claims:      apiserver.List[api.NodeClaim](r.store, apiserver.NodeClaims),
		Pools:       apiserver.List[api.NodePool](r.store, apiserver.NodePools),
		Classes:     apiserver.List[api.EC2NodeClass](r.store, apiserver.NodeClasses),
		Nodes:       apiserver.List[corev1.Node](r.store, apiserver.Nodes),
		Pods:        apiserver.List[corev1.Pod](r.store, apiserver.Pods),
		Volumes:     apiserver.List[corev1.PersistentVolume](r.store, apiserver.Volumes),
		Attachments: apiserver.List[storagev1.VolumeAttachment](r.store, apiserver.Attachments),
		Instances:   r.copied(),
		Patience:    patience,
		Held:        r.heldByPods,
	}
}

// seen reports whether a change is of what the laws of every moment look at.
func seen(change apiserver.Change) bool {
	object := change.After
	if object == nil {
		object = change.Before
	}
	switch object.Kind {
	case apiserver.NodeClaims, apiserver.NodePools, apiserver.Nodes, apiserver.Pods, apiserver.Volumes,
		apiserver.Attachments:
		return true
	}
	return false
}

// copied returns copies of the instances, which nobody may change. EC2 makes new ones after calls
// that write, and after it has told of a change itself.
func (r *Run) copied() []ec2.Instance {
	if r.instances == nil {
		r.instances = r.ec2.Instances()
	}
	return r.instances
}

// stale says that an instance may have changed.
func (r *Run) stale() { r.changed, r.instances = true, nil }

// check looks at the laws that hold at every moment.
func (r *Run) check() {
	if len(r.result.Violations) > 0 {
		return
	}
	world := r.world()
	judged := laws.Always()
	if r.beside {
		judged = slices.DeleteFunc(judged, func(law laws.Law) bool { return law.Name == "within-limits" })
	}
	if wrong := laws.Broken(world, judged); len(wrong) > 0 {
		r.violate("%s", strings.Join(wrong, "; "))
		return
	}
	r.checkUnclaimed(world.Unclaimed())
}

// checkUnclaimed holds that no instance lacks a claim for long.
func (r *Run) checkUnclaimed(ids []string) {
	for id := range r.unclaimed {
		if !slices.Contains(ids, id) {
			delete(r.unclaimed, id)
		}
	}
	for _, id := range ids {
		since, known := r.unclaimed[id]
		if !known {
			r.unclaimed[id] = time.Now()
		} else if time.Since(since) > unclaimedGrace {
			r.breaks("claimed-soon", "the instance %s has had no nodeclaim for %s", id, unclaimedGrace)
			return
		}
	}
}

// released holds that a claim goes only when its instance has ended.
func (r *Run) released(claim *api.NodeClaim) {
	r.freed[claim.Labels[api.NodePoolLabelKey]] = time.Now()
	for _, i := range r.copied() {
		if i.State == ec2.Terminated {
			continue
		}
		if i.ProviderID() == claim.Status.ProviderID {
			r.breaks("released-last", "the nodeclaim %s has gone, and its instance %s is %s", claim.Name, i.ID, i.State)
			return
		}
	}
}

// decided checks what a function orders at the moment in which it sends the call, because a call that
// arrives late was decided before.
func (r *Run) decided(c *call) {
	r.checkLease(c)
	r.checkDeletion(c)
	r.checkShrink(c)
	r.checkFrozen(c)
	r.checkStages(c)
	r.checkUnmounted(c)
	r.checkVirtual(c)
	if !c.isKubernetes() || c.request.Method != http.MethodDelete || c.invocation.function != "disrupt" {
		return
	}
	name, isClaim := strings.CutPrefix(c.request.URL.Path, "/apis/karpenter.sh/v1/nodeclaims/")
	if !isClaim {
		return
	}
	object := r.store.Get(apiserver.NodeClaims, "", name)
	if object == nil || object.Meta.GetDeletionTimestamp() != nil || !current(c, object) {
		return
	}
	claim, _ := object.Typed.(*api.NodeClaim)
	if !api.ConditionTrue(claim.Status.Conditions, api.ConditionTypeInitialized) {
		return // a replacement that is rolled back
	}
	r.checkReplacements(claim)
	r.checkProtection(claim)
	r.checkBudget(claim)
	r.checkUndone(claim)
}

// leases are the Leases under which functions decide alone.
func leases() map[string]string {
	return map[string]string{"provision": "whittle-provision", "disrupt": "whittle-disrupt"}
}

// leaseClocks is how far a clock may be off in seeds that check Leases. A Lease tells its end by the clock
// of its holder, and others give it five seconds more. With clocks further apart two passes may run at a
// time. They may exceed a limit together, and all other invariants hold nevertheless.
const leaseClocks = 2 * time.Second

// checkLease holds that a function changes nothing that matters while another invocation has its Lease.
func (r *Run) checkLease(c *call) {
	name, has := leases()[c.invocation.function]
	if !has || !c.changes() {
		return
	}
	object := r.store.Get(apiserver.Leases, cluster.Namespace, name)
	if object == nil {
		return
	}
	lease, _ := object.Typed.(*coordinationv1.Lease)
	holder := lease.Spec.HolderIdentity
	if holder == nil || *holder == "" || *holder == c.invocation.name {
		return
	}
	if r.beside = true; r.weather.clocks <= leaseClocks {
		r.breaks("alone", "%s sends %s, and %s has the lease %s", c.invocation.name, c.short(), *holder, name)
	}
}

// changes reports whether the call launches, ends or marks nodes.
func (c *call) changes() bool {
	if !c.isKubernetes() {
		return c.operation() == "CreateFleet" || c.operation() == "TerminateInstances"
	}
	path := c.request.URL.Path
	return c.request.Method != http.MethodGet &&
		(strings.Contains(path, "/nodeclaims") || strings.HasPrefix(path, "/api/v1/nodes/"))
}

// checkDeletion holds that no function deletes a pod whose eviction its disruption budget forbids, while the
// pod's machine runs. Only a node may end such a pod that has a termination grace period, or whose instance
// AWS takes within the hour.
func (r *Run) checkDeletion(c *call) {
	pod := r.deletedPod(c)
	if pod == nil || pod.DeletionTimestamp != nil {
		return
	}
	budget := apiserver.BudgetOf(r.store, pod)
	if budget == nil || budget.Status.DisruptionsAllowed > 0 {
		return
	}
	for _, claim := range apiserver.List[api.NodeClaim](r.store, apiserver.NodeClaims) {
		ends := hasGrace(claim) || claim.Annotations[api.NodeClaimTerminationTimestampAnnotationKey] != ""
		if pod.Spec.NodeName != "" && claim.Status.NodeName == pod.Spec.NodeName && ends {
			return
		}
	}
	for _, id := range slices.Sorted(maps.Keys(r.machines)) {
		if m := r.machines[id]; m.kubelet.Runs(pod.UID) && !m.off {
			r.breaks("budget-of-pods",
				"%s deletes pod %s, whose disruption budget %s forbids its eviction", c.name, pod.Name, budget.Name)
		}
	}
}

// deletedPod is the pod that the call deletes, or nil.
func (r *Run) deletedPod(c *call) *corev1.Pod {
	rest, ofNamespace := strings.CutPrefix(c.request.URL.Path, "/api/v1/namespaces/")
	namespace, name, ofPod := strings.Cut(rest, "/pods/")
	if !c.isKubernetes() || c.request.Method != http.MethodDelete || !ofNamespace || !ofPod {
		return nil
	}
	object := r.store.Get(apiserver.Pods, namespace, name)
	if object == nil {
		return nil
	}
	pod, _ := object.Typed.(*corev1.Pod)
	return pod
}

// current reports whether the deletion would be carried out now.
func current(c *call, object *apiserver.Object) bool {
	var options struct{ Preconditions *metav1.Preconditions }
	if err := json.Unmarshal(c.body, &options); err != nil || options.Preconditions == nil {
		return err == nil
	}
	wanted := options.Preconditions.ResourceVersion
	return wanted == nil || *wanted == object.Meta.GetResourceVersion()
}

// checkReplacements holds that a node leaves only when all its replacements are initialized.
func (r *Run) checkReplacements(claim *api.NodeClaim) {
	named := claim.Annotations[api.ReplacedByAnnotationKey]
	if named == "" {
		return
	}
	for name := range strings.SplitSeq(named, ",") {
		object := r.store.Get(apiserver.NodeClaims, "", strings.TrimSpace(name))
		if object == nil {
			continue // it was withdrawn, or has gone since
		}
		replacement, _ := object.Typed.(*api.NodeClaim)
		if !api.ConditionTrue(replacement.Status.Conditions, api.ConditionTypeInitialized) {
			r.breaks("replaced-first",
				"disrupt ends the nodeclaim %s, and its replacement %s is not initialized", claim.Name, name)
		}
	}
}

// seenFor is how long a pod must have run until disrupt has to know it. A shorter time is a race that
// nobody can win: the pod is bound while disrupt sends the deletion.
const seenFor = time.Minute

// checkProtection holds that disrupt ends no node with a pod that must not be disrupted.
func (r *Run) checkProtection(claim *api.NodeClaim) {
	for _, pod := range apiserver.List[corev1.Pod](r.store, apiserver.Pods) {
		if pod.Spec.NodeName != claim.Status.NodeName || pod.Spec.NodeName == "" || pod.DeletionTimestamp != nil ||
			pod.Annotations[api.DoNotDisruptAnnotationKey] != "true" || pod.Status.StartTime == nil {
			continue
		}
		if time.Since(pod.Status.StartTime.Time) > seenFor && !hasGrace(claim) {
			r.breaks("protected",
				"disrupt ends the nodeclaim %s, and pod %s on its node must not be disrupted", claim.Name, pod.Name)
			return
		}
	}
}

// hasGrace reports whether the claim has a termination grace period, with which drift may end it whatever
// its pods say.
func hasGrace(claim *api.NodeClaim) bool { return claim.Spec.TerminationGracePeriod != nil }

// checkBudget holds that disrupt ends no more nodes of a pool at a time than its budget allows.
func (r *Run) checkBudget(claim *api.NodeClaim) {
	r.voluntary[claim.Name] = time.Now()
	ending := 0
	for _, name := range slices.Sorted(maps.Keys(r.voluntary)) {
		object := r.store.Get(apiserver.NodeClaims, "", name)
		if object == nil {
			if time.Since(r.voluntary[name]) > 5*time.Minute {
				delete(r.voluntary, name)
			}
			continue
		}
		other, _ := object.Typed.(*api.NodeClaim)
		// A node whose instance is being terminated counts no more, as in Karpenter.
		if api.ConditionTrue(other.Status.Conditions, api.ConditionTypeInstanceTerminating) {
			continue
		}
		if other.Labels[api.NodePoolLabelKey] == claim.Labels[api.NodePoolLabelKey] &&
			(name == claim.Name || other.DeletionTimestamp != nil) {
			ending++
		}
	}
	for _, pool := range apiserver.List[api.NodePool](r.store, apiserver.NodePools) {
		if pool.Name != claim.Labels[api.NodePoolLabelKey] || len(pool.Spec.Disruption.Budgets) != 1 {
			continue
		}
		allowed := 0
		if _, err := fmt.Sscan(pool.Spec.Disruption.Budgets[0].Nodes, &allowed); err == nil && ending > allowed {
			r.breaks("within-budget",
				"disrupt ends %d nodes of the pool %s at a time, and its budget is %d", ending, pool.Name, allowed)
		}
	}
}

// effects checks what a call of a function has done.
func (r *Run) effects(c *call, response *http.Response) {
	if !c.isKubernetes() || response.StatusCode >= 300 || c.request.Method != http.MethodDelete ||
		!strings.Contains(c.request.URL.Path, "/pods/") {
		return
	}
	var options struct {
		GracePeriodSeconds *int64
		Preconditions      *metav1.Preconditions
	}
	if err := json.Unmarshal(c.body, &options); err != nil || options.GracePeriodSeconds == nil ||
		*options.GracePeriodSeconds > 0 || options.Preconditions == nil || options.Preconditions.UID == nil {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(r.machines)) {
		if m := r.machines[id]; m.kubelet.Runs(*options.Preconditions.UID) && !m.off {
			r.breaks("machine-knows", "%s removes pod %s, and its machine %s runs", c.name, c.request.URL.Path, id)
		}
	}
}

// settled checks what must hold when nothing has gone wrong for long.
func (r *Run) settled() {
	if !r.prepared {
		r.violate("the cluster was never ready")
		return
	}
	problems := slices.Concat(laws.Broken(r.world(), laws.AtRest()), named("pods-run", r.unsettledPods()),
		named("static-count", r.unsettledStatic()), named("room-ahead", r.unsettledBuffers()),
		named("requests-end", r.unsettledRequests()), r.stalled())
	for _, queue := range queueNames() {
		for _, letter := range r.mail[queue].dead {
			if letter.accepted {
				continue // the weather has kept it, each time that it was to be deleted
			}
			problems = append(problems, fmt.Sprintf("letters-end: %s is a dead letter: %.200s", letter.id, letter.body))
		}
	}
	if len(problems) > 0 {
		r.violate("%s after the last fault: %s", calm, strings.Join(problems, "; "))
	}
}

// patience is how long something may take in a world at rest.
const patience = 6 * time.Minute

// unsettledPods lists the pods that should run, or should have ended.
func (r *Run) unsettledPods() []string {
	var problems []string
	for _, pod := range apiserver.List[corev1.Pod](r.store, apiserver.Pods) {
		switch age := time.Since(pod.CreationTimestamp.Time); {
		case pod.Status.Phase == corev1.PodFailed: // its kubelet has rejected it
			continue
		case pod.DeletionTimestamp != nil && r.repairIsBlocked(pod.Spec.NodeName):
			continue
		case pod.DeletionTimestamp != nil && time.Since(pod.DeletionTimestamp.Time) > patience:
			problems = append(problems, fmt.Sprintf("pod %s does not end", pod.Name))
		case volumeOf(pod) != "" && age < patience+unmountWait:
			continue // the volume may have to wait for a kubelet that is silent
		case pod.DeletionTimestamp == nil && !podReady(pod) && age > patience+r.weather.slowestBoot && !r.mayWait(pod) &&
			!r.awaitsBoot(pod):
			problems = append(problems, fmt.Sprintf("pod %s does not run (node %q, nominated for %q): %s", pod.Name,
				pod.Spec.NodeName, pod.Status.NominatedNodeName, r.whyNot(pod)))
		}
	}
	return problems
}

// awaitsBoot reports whether a machine boots that will join, and that has room for the pod beside those that it
// was launched for. An earlier one may never have joined, which takes 15 minutes to know.
func (r *Run) awaitsBoot(pod *corev1.Pod) bool {
	for _, claim := range apiserver.List[api.NodeClaim](r.store, apiserver.NodeClaims) {
		id, launched := api.InstanceID(claim.Status.ProviderID)
		m := r.machines[id]
		boots := launched && m != nil && !m.joined && !m.absent && !m.off && claim.DeletionTimestamp == nil
		if boots && claim.Labels[api.NodePoolLabelKey] != staticPool && r.hasRoom(claim, m, pod) {
			return true
		}
	}
	return false
}

// hasRoom reports whether a machine that boots leaves processors for the pod.
func (r *Run) hasRoom(claim *api.NodeClaim, m *machine, pod *corev1.Pod) bool {
	cpu, _ := requests(pod)
	agent, _ := r.agentTakes()
	left := int64(m.instance.Facts.VCPUs)*1000 - 100 - agent - cpu
	for _, other := range apiserver.List[corev1.Pod](r.store, apiserver.Pods) {
		if other.UID != pod.UID && strings.Contains(claim.Annotations[api.NominatedPodsAnnotationKey], string(other.UID)) {
			wanted, _ := requests(other)
			left -= wanted
		}
	}
	return left >= 0
}

// repairIsBlocked reports whether the node's machine has failed, and so many others of its pool
// that Whittle repairs none, as Karpenter does.
func (r *Run) repairIsBlocked(nodeName string) bool {
	object := r.store.Get(apiserver.Nodes, "", nodeName)
	m := r.machineOf(nodeName)
	if object == nil || m == nil || !m.off {
		return false
	}
	pool := r.store.Get(apiserver.NodePools, "", object.Meta.GetLabels()[api.NodePoolLabelKey])
	if pool == nil {
		return false
	}
	typed, _ := pool.Typed.(*api.NodePool)
	return api.ConditionTrue(typed.Status.Conditions, api.ConditionTypeNodeRepairBlocked)
}

// whyNot says what keeps a pod from each node, and what an event says.
func (r *Run) whyNot(pod *corev1.Pod) string {
	var why []string
	for _, node := range apiserver.List[corev1.Node](r.store, apiserver.Nodes) {
		left := r.roomOf(node)
		for _, other := range apiserver.List[corev1.Pod](r.store, apiserver.Pods) {
			if other.Spec.NodeName == node.Name && other.Status.Phase != corev1.PodFailed {
				left.take(other)
			}
		}
		why = append(why, fmt.Sprintf("%s may run it: %t, has %dm cores and %d MiB", node.Name, r.mayRun(pod, node), left.cpu,
			left.memory>>20))
	}
	last := "no event"
	for _, event := range apiserver.List[corev1.Event](r.store, apiserver.Events) {
		if event.InvolvedObject.UID == pod.UID {
			last = event.Reason + ": " + event.Message
		}
	}
	return strings.Join(append(why, last), ", ")
}

// heldByPods reports whether pods that may not be evicted hold the claim's node, which has no termination
// grace period.
func (r *Run) heldByPods(claim *api.NodeClaim) bool {
	if hasGrace(claim) {
		return time.Since(claim.DeletionTimestamp.Time) < claim.Spec.TerminationGracePeriod.Duration+6*time.Minute
	}
	for _, pod := range apiserver.List[corev1.Pod](r.store, apiserver.Pods) {
		if pod.Spec.NodeName == claim.Status.NodeName && pod.Spec.NodeName != "" {
			return true
		}
	}
	return false
}

// mayWait reports whether no pool has room for the pod within its limits. For the pod of a gang,
// whose pods may come to two pools, it reports whether no pool has room for all of them. Limits
// that a claim has just left are for the pod that waits first.
func (r *Run) mayWait(pod *corev1.Pod) bool {
	if pod.Labels["app"] == vainGang {
		return true
	}
	pods := int64(1)
	for _, l := range r.workloads {
		if l.gang && l.name == pod.Labels["app"] {
			pods = int64(l.count)
		}
	}
	cpu, memory := requests(pod)
	ownCPU, ownMemory := r.agentTakes()
	cpu, memory = cpu+ownCPU, memory+ownMemory
	for _, pool := range apiserver.List[api.NodePool](r.store, apiserver.NodePools) {
		forLate, isLate := pool.Name == lateName, pod.Labels["app"] == lateName
		if time.Since(r.freed[pool.Name]) < 2*time.Minute || r.braked(pool) || forLate != isLate {
			continue
		}
		if pool.Name == "default" || pool.Name != staticPool && pod.Spec.NodeSelector[api.CapacityTypeLabelKey] != "spot" {
			limit := pool.Spec.Limits[corev1.ResourceCPU]
			used := r.usedOf(pool.Name)
			if limit.Value()-used >= pods*smallestFor(cpu, memory) {
				return false
			}
		}
	}
	return true
}

// smallestFor is the number of processors of the smallest m5 with room for a pod. An m5 has 4 GiB a
// processor.
func smallestFor(cpu, memory int64) int64 {
	sizes := []int64{2, 4, 8, 16}
	for _, size := range sizes {
		if cpu <= size*1000-100 && memory <= (size*4<<30)/100*93-1<<30 {
			return size
		}
	}
	return sizes[len(sizes)-1]
}

// braked reports whether the pool gets one node at a time, because its last ones have not joined.
func (r *Run) braked(pool *api.NodePool) bool {
	return registration.BrakeOf(pool, nil, nil, time.Now()) != registration.Brake{}
}

// usedOf is what a pool's claims take of its limit, in processors. Those that leave take nothing. A claim
// without an instance may still take everything.
func (r *Run) usedOf(pool string) int64 {
	used := int64(0)
	for _, claim := range apiserver.List[api.NodeClaim](r.store, apiserver.NodeClaims) {
		if claim.Labels[api.NodePoolLabelKey] == pool && !scheduling.IsLeaving(claim, nil) {
			cpus, launched := claim.Status.Capacity[corev1.ResourceCPU]
			if !launched {
				return math.MaxInt32
			}
			used += cpus.Value()
		}
	}
	return used
}
