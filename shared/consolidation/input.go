package consolidation

import (
	"time"

	policyv1 "k8s.io/api/policy/v1"

	"github.com/whittle-dev/whittle/shared/plan"
)

// Input is what consolidation knows of the cluster at one moment. Solve does not change it.
type Input struct {
	// Cluster is what the planner gets (snapshot.Assemble). Its Pods are the pending pods and those
	// of leaving nodes. They get their places before any node is deleted. Volumes and namespaces of
	// running pods must be there too, because these pods may move: sight.ReadFleet reads them.
	Cluster *plan.Snapshot `json:"cluster"`
	// Budgets are the cluster's PodDisruptionBudgets.
	Budgets []policyv1.PodDisruptionBudget `json:"budgets,omitempty"`
	// Allowed is how many more nodes of each NodePool may be disrupted now, by the pool's name: see
	// Allowances. A pool that is missing allows none. Nil is no limit.
	Allowed map[string]Allowance `json:"allowed,omitempty"`
	Now     time.Time            `json:"now"`
}

// Allowance is how many more nodes of a pool may be disrupted now for each reason.
type Allowance struct {
	Empty         int `json:"empty"`
	Underutilized int `json:"underutilized"`
}
