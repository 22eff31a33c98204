package consolidation

import (
	"time"

	policyv1 "k8s.io/api/policy/v1"

	"github.com/whittle-dev/whittle/shared/plan"
)

// Snapshot is the cluster at one moment, as far as consolidation looks at it.
type Snapshot struct {
	// Cluster is what the planner gets (snapshot.Assemble): waiting pods and those of nodes that are leaving already among its Pods, which have their places
	// before any move is thought of. What running pods need of volumes and namespaces must be there too, since they may move: observe.Details reads it for the pods that a snapshot has waiting.
	// It is not changed.
	Cluster *plan.Snapshot `json:"cluster"`
	// Budgets are the cluster's PodDisruptionBudgets.
	Budgets []policyv1.PodDisruptionBudget `json:"budgets,omitempty"`
	// Allowed is how many more nodes of each NodePool may be disrupted now, by the pool's name: what disruption.Allowed gives, and Allowances for all. Of a pool that is not
	// there none may. Nil is no budget at all.
	Allowed map[string]Allowance `json:"allowed,omitempty"`
	Now     time.Time            `json:"now"`
}

// Allowance is how many more nodes of a pool may be disrupted now for each reason.
type Allowance struct {
	Empty         int `json:"empty"`
	Underutilized int `json:"underutilized"`
}
