package registration

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

const (
	// brakeFrom is the number of nodes in a row that did not join from which on a pool gets one node
	// at a time. A single one may be a broken machine.
	brakeFrom = 2
	// pause is the time between a node that was given up, after a quarter of an hour, and the next
	// one. Together they allow three nodes an hour. longPause is the same once nodes have failed for
	// longAfter.
	pause     = 10 * time.Minute
	longPause = 45 * time.Minute
	longAfter = time.Hour
)

// Brake is what a pool whose last nodes have not joined may launch. Its zero value is no brake.
type Brake struct {
	// Closed says why the pool gets no node now, and when it may get the next. It is empty for a pool
	// that may get nodes.
	Closed string
	// OneNode is true where the pool may get one node.
	OneNode bool
}

// BrakeOf reads the brake of a pool from its condition. A change of the pool or of its class
// releases it, and so does a node that joins. The class may be nil.
func BrakeOf(pool *api.NodePool, class *api.EC2NodeClass, claims []api.NodeClaim, now time.Time) Brake {
	condition := api.GetCondition(pool.Status.Conditions, api.ConditionTypeNodeRegistrationHealthy)
	if condition == nil || condition.ObservedGeneration != pool.Generation ||
		class != nil && pool.Status.NodeClassObservedGeneration != class.Generation {
		return Brake{}
	}
	launches, _ := Parse(condition.Message)
	failed := launches.inVain()
	if len(failed) < brakeFrom {
		return Brake{}
	}
	last := failed[len(failed)-1]
	wait := pause
	if last.At.Sub(failed[0].At) >= longAfter {
		wait = longPause
	}
	const remedy = "the instances' console output and system log say why: change the EC2NodeClass or the NodePool, " +
		"which ends the wait"
	var next string
	claim, until := underWay(pool, claims), last.At.Add(wait)
	switch {
	case now.Before(until):
		next = "the next node is not before " + until.UTC().Format(time.RFC3339)
	case claim != nil:
		next = fmt.Sprintf("it waits for the node of nodeclaim %q", claim.Name)
	default:
		return Brake{OneNode: true}
	}
	return Brake{Closed: fmt.Sprintf("its last %d nodes have not joined the cluster, such as that of nodeclaim %q; %s; %s",
		len(failed), last.Claim, next, remedy)}
}

// underWay returns a claim of the pool whose node has not joined and may still.
func underWay(pool *api.NodePool, claims []api.NodeClaim) *api.NodeClaim {
	for i := range claims {
		claim := &claims[i]
		if claim.Labels[api.NodePoolLabelKey] == pool.Name && claim.Status.NodeName == "" &&
			!scheduling.IsDeletionRequested(claim, nil) {
			return claim
		}
	}
	return nil
}

// OneMore are the limits of a pool with this number of nodes that may get one more.
func OneMore(limits api.Limits, nodes int64) api.Limits {
	most := *resource.NewQuantity(nodes+1, resource.DecimalSI)
	if limit, limited := limits[api.ResourceNodes]; limited && limit.Cmp(most) <= 0 {
		return limits
	}
	limited := api.Limits{api.ResourceNodes: most}
	for name, limit := range limits {
		if name != api.ResourceNodes {
			limited[name] = limit
		}
	}
	return limited
}
