package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/console/printable"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/nodestate"
	"github.com/whittle-dev/whittle/shared/registration"
)

// nodePools sums up the claims of each pool. The sums of the pool's own status may be a minute old.
func nodePools(objects *Cluster, now time.Time) []NodePool {
	pools := make([]NodePool, 0, len(objects.NodePools))
	for i := range objects.NodePools {
		pool := &objects.NodePools[i]
		shown := NodePool{
			Name: pool.Name, Limits: pool.Spec.Limits, Ready: api.ConditionTrue(pool.Status.Conditions, api.ConditionReady),
		}
		if ref := pool.Spec.Template.Spec.NodeClassRef; ref != nil {
			shown.NodeClass = ref.Name
		}
		for j := range objects.NodeClaims {
			claim := &objects.NodeClaims[j]
			if claim.Labels[api.NodePoolLabelKey] != pool.Name ||
				claim.DeletionTimestamp != nil && claim.Status.ProviderID == "" {
				continue
			}
			shown.Nodes++
			shown.CPU.Add(*claim.Status.Capacity.Cpu())
			shown.Memory.Add(*claim.Status.Capacity.Memory())
		}
		shown.Reasons = reasons(pool)
		showHours(&shown, pool, now)
		if held := pool.Frozen(api.DisruptionReasonUnderutilized, now); held != nil {
			shown.Reasons = append(shown.Reasons, printable.Line(held.String()))
		} else if shown.Nodes > 0 && !pool.Maintenance(now).Closed && nodestate.FrozenPool(pool, shown.Nodes, now) {
			shown.Reasons = append(shown.Reasons, "its budgets let no node go now")
		}
		if state := objects.Releases[pool.Name]; state != nil && state.Waits() {
			shown.Reasons = append(shown.Reasons, printable.Line(fmt.Sprintf("%d nodes have drifted: %s", state.Old, state)))
		}
		class := api.ClassOf(pool.Spec.Template.Spec.NodeClassRef, objects.NodeClasses)
		if brake := registration.BrakeOf(pool, class, objects.NodeClaims, now); brake.Closed != "" {
			shown.Reasons = append(shown.Reasons, printable.Line(brake.Closed))
		}
		pools = append(pools, shown)
	}
	slices.SortFunc(pools, func(a, b NodePool) int { return strings.Compare(a.Name, b.Name) })
	return pools
}

// showHours shows what holds by the pool's windows and the cluster's order, and what changes next.
func showHours(shown *NodePool, pool *api.NodePool, now time.Time) {
	if rest := pool.Rest(now); rest.Scheduled() {
		shown.Sleep = &Hours{Active: rest.Asleep, NextChange: rest.Changes, Message: printable.Line(rest.String())}
	}
	if maintenance := pool.Maintenance(now); maintenance.Closed || !maintenance.Changes.IsZero() {
		shown.Maintenance = &Hours{
			Active: !maintenance.Closed, NextChange: maintenance.Changes, Message: maintenance.String()}
	}
}

// orderProblem is why the order for the whole cluster cannot be read.
func orderProblem(objects *Cluster) []string {
	for i := range objects.NodePools {
		if order := objects.NodePools[i].ClusterOrder; order != nil && order.Problem != nil {
			return []string{printable.Line(fmt.Sprintf("nothing sleeps by the configmap %s/%s: %v",
				cluster.Namespace, inventory.ControlName, order.Problem))}
		}
	}
	return nil
}

// hoursProblems names the first pools whose annotations about hours cannot be read.
func hoursProblems(objects *Cluster) []string {
	var all []string
	for i := range objects.NodePools {
		if problem := objects.NodePools[i].HoursProblem(); problem != "" && len(all) < namesShown {
			all = append(all, printable.Short(printable.Line(problem), reasonLength))
		}
	}
	return all
}

// reasons returns the messages of the pool's conditions that are not true. Ready only repeats
// others, so it comes last.
func reasons(pool *api.NodePool) []string {
	if pool.DeletionTimestamp != nil {
		return []string{"it is being deleted"}
	}
	if len(pool.Status.Conditions) == 0 {
		return []string{"it has no status yet: lifecycle writes one each minute"}
	}
	var found []string
	for _, condition := range pool.Status.Conditions {
		// An unknown registration health means that no node has launched yet.
		informs := condition.Type == api.ConditionTypeNodeRegistrationHealthy && condition.Status == metav1.ConditionUnknown
		if condition.Status == metav1.ConditionTrue || condition.Type == api.ConditionReady || informs {
			continue
		}
		found = append(found, because(condition))
	}
	if err := pool.PriceErrors(); err != nil {
		found = append(found, err.Error())
	}
	if problem := pool.HoursProblem(); problem != "" {
		found = append(found, printable.Line(problem))
	}
	return found
}

// because returns a condition's message, otherwise its reason.
func because(condition metav1.Condition) string {
	message := printable.Line(condition.Message)
	reason := condition.Reason
	if reason == "" || reason == condition.Type {
		reason = condition.Type + " is " + strings.ToLower(string(condition.Status))
	} else if message == "" {
		reason = condition.Type + ": " + reason
	}
	return strings.TrimSuffix(reason+": "+message, ": ")
}
