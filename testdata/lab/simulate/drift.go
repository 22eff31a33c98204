package simulate

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption/protection"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/apiserver"
)

const (
	// driftedPool is the pool whose template a person changes.
	driftedPool = "default"
	// driftPatience is how long no drifted node of a pool may go, although one may, besides the time of a
	// boot.
	driftPatience = 10 * time.Minute
	// mostFailed is the share of failed nodes above which repair replaces none of them.
	mostFailed = 0.2
	// vainMost is how many nodes may be bought for one pod within an hour and end without a pod.
	vainMost = 3
	// vainTogether is the time within which nodes that were bought for a gang at once may go. They
	// count as one.
	vainTogether = 2 * time.Minute
)

// changeTemplate lets a person change the template of a pool, in some seeds at its limit or with
// machines that boot for longer than a replacement may take.
func (r *Run) changeTemplate() {
	if e := r.engine; e.Chance(0.4, "template") {
		e.In(e.Between(3*time.Minute, 9*time.Minute, "template", "changes"), r.changeTemplateNow)
	}
}

// changeTemplateNow changes the template once provision rests: a pass that has read the pool
// launches within the limit that it has read.
func (r *Run) changeTemplateNow() {
	if r.running["provision"] > 0 {
		r.engine.In(time.Second, r.changeTemplateNow)
		return
	}
	used := r.usedOf(driftedPool)
	full := r.engine.Chance(0.4, "template", "at its limit") && used > 0 && used < 1000
	if r.mayBootSlowly() && r.engine.Chance(0.8, "template", "slow boots") {
		r.weather.boot(11*time.Minute, 13*time.Minute)
	}
	r.trace("nodepool %s: another template, full %t, boots of %s", driftedPool, full, r.weather.mostBoot)
	apiserver.Update(r.store, apiserver.NodePools, "", driftedPool, func(pool *api.NodePool) bool {
		pool.Spec.Template.Labels = map[string]string{releaseLabel: "2"}
		r.releasing(pool)
		if full {
			pool.Spec.Limits = api.Limits{corev1.ResourceCPU: *resource.NewQuantity(used, resource.DecimalSI)}
		}
		return true
	})
}

// mayBootSlowly reports whether no law of this seed counts on a boot of a few minutes: nothing
// expires, and nobody asks for a number of nodes or for room.
func (r *Run) mayBootSlowly() bool {
	for _, pool := range apiserver.List[api.NodePool](r.store, apiserver.NodePools) {
		if pool.Spec.Replicas != nil || pool.Spec.Template.Spec.ExpireAfter.Duration != nil {
			return false
		}
	}
	return len(apiserver.List[api.CapacityBuffer](r.store, apiserver.CapacityBuffers)) == 0
}

// unsettledDrift lists a node that has drifted, or whose end AWS has announced, and that may go, where no node
// of its pool has gone for long. A pool with more failed nodes than repair may replace keeps them, and they
// use its budget up. One whose nodes do not join gets none for a while. One whose drains wait for disruption
// budgets of pods may have no budget left. A release with stages takes its time.
func (r *Run) unsettledDrift() []string {
	patience := driftPatience + r.weather.slowestBoot
	if r.staged {
		return nil // a person continues it once the faults are over
	}
	moved := time.Since(r.freed[driftedPool]) < patience || time.Since(r.brakedAt) < patience
	if moved || r.failedOf(driftedPool) > mostFailed || r.drainsHeld(driftedPool) {
		return nil
	}
	for _, claim := range apiserver.List[api.NodeClaim](r.store, apiserver.NodeClaims) {
		since := r.replaceableSince(claim)
		drifted := api.GetCondition(claim.Status.Conditions, api.ConditionTypeDrifted)
		if drifted != nil && (since.IsZero() || drifted.LastTransitionTime.Time.Before(since)) {
			since = drifted.LastTransitionTime.Time
		}
		if claim.Labels[api.NodePoolLabelKey] == driftedPool && claim.DeletionTimestamp == nil && !since.IsZero() &&
			time.Since(since) >= patience && !r.keptByPods(claim) {
			return []string{fmt.Sprintf("nodeclaim %s was to be replaced %s ago, and no node of its pool has gone for %s",
				claim.Name, time.Since(since).Truncate(time.Second), time.Since(r.freed[driftedPool]).Truncate(time.Second))}
		}
	}
	return nil
}

// drainsHeld reports whether all of the pool's budget goes to nodes that drain, and whose pods may not be
// evicted now.
func (r *Run) drainsHeld(pool string) bool {
	held, allowed := 0, 0
	for _, claim := range apiserver.List[api.NodeClaim](r.store, apiserver.NodeClaims) {
		if claim.Labels[api.NodePoolLabelKey] == pool && claim.DeletionTimestamp != nil && r.keptByPods(claim) {
			held++
		}
	}
	for _, one := range apiserver.List[api.NodePool](r.store, apiserver.NodePools) {
		if one.Name == pool && len(one.Spec.Disruption.Budgets) > 0 {
			_, _ = fmt.Sscan(one.Spec.Disruption.Budgets[0].Nodes, &allowed)
		}
	}
	return held > 0 && held >= allowed
}

// failedOf is the share of a pool's nodes whose hardware has failed.
func (r *Run) failedOf(pool string) float64 {
	failed, all := 0, 0
	for _, claim := range apiserver.List[api.NodeClaim](r.store, apiserver.NodeClaims) {
		id, launched := api.InstanceID(claim.Status.ProviderID)
		if claim.Labels[api.NodePoolLabelKey] != pool || !launched || r.machines[id] == nil {
			continue
		}
		all++
		if r.machines[id].failed {
			failed++
		}
	}
	return float64(failed) / float64(max(all, 1))
}

// keptByPods reports whether a pod of the claim's node must not be disrupted, or its disruption budget allows
// no disruption.
func (r *Run) keptByPods(claim *api.NodeClaim) bool {
	var pods []*corev1.Pod
	for _, pod := range apiserver.List[corev1.Pod](r.store, apiserver.Pods) {
		if pod.Spec.NodeName == claim.Status.NodeName {
			pods = append(pods, pod)
		}
	}
	var budgets []policyv1.PodDisruptionBudget
	for _, budget := range apiserver.List[policyv1.PodDisruptionBudget](r.store, apiserver.Budgets) {
		budgets = append(budgets, *budget)
	}
	return protection.Blocked(pods, budgets, time.Now()) != ""
}

// serves notes the nodes on which a pod of a workload has run.
func (r *Run) serves(pod *corev1.Pod) {
	if pod.Spec.NodeName != "" && pod.Labels["app"] != "" {
		r.served[pod.Spec.NodeName] = true
	}
}

// boughtInVain holds that no pod gets node after node that serves nobody. Hardware that fails and
// spot instances that EC2 takes back are nobody's fault.
func (r *Run) boughtInVain(claim *api.NodeClaim) {
	id, launched := api.InstanceID(claim.Status.ProviderID)
	m := r.machines[id]
	if !launched || m == nil || m.doomed || m.failed || r.served[claim.Status.NodeName] {
		return
	}
	waiting := map[string]string{}
	for _, pod := range apiserver.List[corev1.Pod](r.store, apiserver.Pods) {
		if pod.Spec.NodeName == "" {
			waiting[string(pod.UID)] = pod.Name
		}
	}
	for uid := range strings.SplitSeq(claim.Annotations[api.NominatedPodsAnnotationKey], ",") {
		name, waits := waiting[uid]
		if !waits {
			continue
		}
		times := r.vain[uid]
		if len(times) > 0 && time.Since(times[len(times)-1]) < vainTogether {
			continue
		}
		times = append(times, time.Now())
		if r.vain[uid] = times; len(times) > vainMost && time.Since(times[len(times)-1-vainMost]) < time.Hour {
			r.breaks("nothing-in-vain",
				"%d nodes were bought for pod %s within an hour, and none has served", len(times), name)
			return
		}
	}
}
