package view

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/console/printable"
	"github.com/whittle-dev/whittle/shared/api"
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
		if shown.Nodes > 0 && nodestate.FrozenPool(pool, shown.Nodes, now) {
			shown.Reasons = append(shown.Reasons, "its budgets let no node go now")
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
	if _, err := pool.NodeFee(); err != nil {
		found = append(found, err.Error())
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
