package simulate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/apiserver"
)

const (
	// recovery is the time after the last fault in which messages of before may come again.
	recovery = 10 * time.Minute
	// emptyPatience is how much longer than its pool's time an empty node may stay while work keeps coming.
	emptyPatience = 2 * time.Minute
	// busyEvery is how often the budgets of pools are looked at.
	busyEvery = 10 * time.Second
	// joinPatience is how long a node that is ready may wait for its registration.
	joinPatience = time.Minute
	// repairPatience is how long a node whose hardware has failed may stay, besides the time of a boot: EC2's
	// status check has to fail for two minutes, and the replacement has ten.
	repairPatience = 12 * time.Minute
	// steerPatience is how long all nodes of a pool may have the soft taint. One pass of each minute looks.
	steerPatience = 3 * time.Minute
)

// lively checks what has to go on while work keeps coming. Work never rests: jobs and pods without a
// place come until the end. Only faults end, some minutes before.
func (r *Run) lively() {
	if r.weather.bad() || time.Since(r.weather.ends) < recovery {
		return
	}
	if problems := r.stalled(); len(problems) > 0 {
		r.violate("%s after the last fault, while work keeps coming: %s",
			time.Since(r.weather.ends).Truncate(time.Second), strings.Join(problems, "; "))
	}
}

// stalled lists what should have gone on.
func (r *Run) stalled() []string {
	return slices.Concat(named("empties-go", r.unsettledEmpties()), named("drift-moves", r.unsettledDrift()),
		named("announced-leave", r.unretired()), named("failed-leave", r.unrepaired()),
		named("ready-joins", r.unregistered()), named("steered-in-part", r.steeredWhole()))
}

// unsettledEmpties lists nodes that have been empty for long, although their pool's budget lets one go.
func (r *Run) unsettledEmpties() []string {
	var problems []string
	for _, claim := range apiserver.List[api.NodeClaim](r.store, apiserver.NodeClaims) {
		pool := claim.Labels[api.NodePoolLabelKey]
		since, err := time.Parse(time.RFC3339, claim.Annotations[api.EmptySinceAnnotationKey])
		late := err == nil && time.Since(since) >= 30*time.Second+emptyPatience
		if pool == staticPool || !late || claim.DeletionTimestamp != nil || !r.isReady(claim) ||
			time.Since(r.busy[pool]) < emptyPatience || time.Since(r.awaited[claim.Name]) < emptyPatience {
			continue
		}
		problems = append(problems, fmt.Sprintf("nodeclaim %s has been empty for %s", claim.Name,
			time.Since(since).Truncate(time.Second)))
	}
	return problems
}

// noteSteered notes since when all nodes of a pool have the soft taint. Nodes that leave or are being replaced do
// not count, because nothing more is written on them.
func (r *Run) noteSteered() {
	steered, others := map[string]bool{}, map[string]bool{}
	for _, claim := range apiserver.List[api.NodeClaim](r.store, apiserver.NodeClaims) {
		_, replaced := claim.Annotations[api.ReplacedByAnnotationKey]
		object := r.store.Get(apiserver.Nodes, "", claim.Status.NodeName)
		if replaced || claim.DeletionTimestamp != nil || object == nil {
			continue
		}
		node, _ := object.Typed.(*corev1.Node)
		if disruption.IsCandidate(node) {
			steered[claim.Labels[api.NodePoolLabelKey]] = true
		} else {
			others[claim.Labels[api.NodePoolLabelKey]] = true
		}
	}
	for pool := range r.soft {
		if !steered[pool] || others[pool] {
			delete(r.soft, pool)
		}
	}
	for pool := range steered {
		if _, known := r.soft[pool]; !known && !others[pool] {
			r.soft[pool] = time.Now()
		}
	}
}

// steeredWhole lists pools of which all nodes have had the soft taint for long.
func (r *Run) steeredWhole() []string {
	var problems []string
	for _, pool := range slices.Sorted(maps.Keys(r.soft)) {
		if since := time.Since(r.soft[pool]); since > steerPatience {
			problems = append(problems, fmt.Sprintf("all nodes of nodepool %s have had the soft taint for %s", pool,
				since.Truncate(time.Second)))
		}
	}
	return problems
}

// unrepaired lists nodes whose hardware has failed for long. A pool with more of them than repair may replace
// keeps them. A machine that failed before it joined is no node: the end of its registration gives it up.
func (r *Run) unrepaired() []string {
	var problems []string
	for _, claim := range apiserver.List[api.NodeClaim](r.store, apiserver.NodeClaims) {
		id, launched := api.InstanceID(claim.Status.ProviderID)
		m := r.machines[id]
		if !launched || m == nil || !m.failed || !m.joined || claim.DeletionTimestamp != nil {
			continue
		}
		since := time.Since(m.failedAt)
		if since >= repairPatience+r.weather.slowestBoot && !r.repairIsBlocked(claim.Status.NodeName) {
			problems = append(problems, fmt.Sprintf("the hardware of nodeclaim %s has failed for %s", claim.Name,
				since.Truncate(time.Second)))
		}
	}
	return problems
}

// awaitsDrain reports whether a pod that the claim was launched for is still on a node that leaves. A
// disruption budget may keep it there.
func (r *Run) awaitsDrain(claim *api.NodeClaim) bool {
	for _, pod := range apiserver.List[corev1.Pod](r.store, apiserver.Pods) {
		node := r.store.Get(apiserver.Nodes, "", pod.Spec.NodeName)
		if strings.Contains(claim.Annotations[api.NominatedPodsAnnotationKey], string(pod.UID)) &&
			node != nil && node.Meta.GetDeletionTimestamp() != nil {
			return true
		}
	}
	return false
}

// noteBusy notes the pools whose budget lets no further node go: nodes leave, are being replaced or
// are not ready. It also notes whether the pool that drifts gets no nodes for a while, or waits for one that
// never joins, and which empty nodes wait for pods.
func (r *Run) noteBusy() {
	r.noteSteered()
	taken := map[string]int{}
	claims := apiserver.List[api.NodeClaim](r.store, apiserver.NodeClaims)
	if slices.ContainsFunc(claims, r.waitsInVain) {
		r.brakedAt = time.Now()
	}
	for _, claim := range claims {
		_, replaced := claim.Annotations[api.ReplacedByAnnotationKey]
		if replaced || claim.DeletionTimestamp != nil || !r.isReady(claim) {
			taken[claim.Labels[api.NodePoolLabelKey]]++
		}
		if claim.Annotations[api.EmptySinceAnnotationKey] != "" && r.awaitsDrain(claim) {
			r.awaited[claim.Name] = time.Now()
		}
	}
	for _, pool := range apiserver.List[api.NodePool](r.store, apiserver.NodePools) {
		allowed := 0
		_, err := fmt.Sscan(pool.Spec.Disruption.Budgets[0].Nodes, &allowed)
		if err != nil || taken[pool.Name] >= allowed {
			if time.Since(r.busy[pool.Name]) > busyEvery {
				r.busySince[pool.Name] = time.Now()
			}
			r.busy[pool.Name] = time.Now()
		}
		if pool.Name == driftedPool && r.braked(pool) {
			r.brakedAt = time.Now()
		}
	}
}

// waitsInVain reports whether a node of the pool that drifts waits for a replacement that never joins. Only the
// end of its registration, 15 minutes after its launch, ends that.
func (r *Run) waitsInVain(claim *api.NodeClaim) bool {
	if claim.Labels[api.NodePoolLabelKey] != driftedPool {
		return false
	}
	for _, name := range strings.Split(claim.Annotations[api.ReplacedByAnnotationKey], ",") {
		object := r.store.Get(apiserver.NodeClaims, "", name)
		if object == nil {
			continue
		}
		by, _ := object.Typed.(*api.NodeClaim)
		id, launched := api.InstanceID(by.Status.ProviderID)
		if launched && r.machines[id] != nil && r.machines[id].absent {
			return true
		}
	}
	return false
}

// isReady reports whether the node of the claim is.
func (r *Run) isReady(claim *api.NodeClaim) bool {
	object := r.store.Get(apiserver.Nodes, "", claim.Status.NodeName)
	if object == nil {
		return false
	}
	node, _ := object.Typed.(*corev1.Node)
	return disruption.IsReady(node)
}

// unregistered lists nodes that have been ready for long, and whose claim is not initialized.
func (r *Run) unregistered() []string {
	var problems []string
	for _, claim := range apiserver.List[api.NodeClaim](r.store, apiserver.NodeClaims) {
		id, launched := api.InstanceID(claim.Status.ProviderID)
		if !launched || claim.DeletionTimestamp != nil || r.machines[id] == nil ||
			api.ConditionTrue(claim.Status.Conditions, api.ConditionTypeInitialized) {
			continue
		}
		object := r.store.Get(apiserver.Nodes, "", r.machines[id].instance.PrivateDNSName)
		if object == nil {
			continue
		}
		node, _ := object.Typed.(*corev1.Node)
		for _, condition := range node.Status.Conditions {
			waits := time.Since(condition.LastTransitionTime.Time)
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue && waits > joinPatience {
				problems = append(problems, fmt.Sprintf("node %s has been ready for %s, and its nodeclaim %s is not initialized",
					node.Name, waits.Truncate(time.Second), claim.Name))
			}
		}
	}
	return problems
}
