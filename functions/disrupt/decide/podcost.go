package decide

import (
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// CostAnnotations are the annotations that give a pod its deletion cost, and beside it the mark that
// it is Whittle's. Both are nil, and removed together, for a pod that is to have none.
func CostAnnotations(wanted disruption.PodCost) map[string]any {
	var cost any
	if wanted.Cost != "" {
		cost = wanted.Cost
	}
	return map[string]any{api.PodDeletionCostAnnotationKey: cost, api.ManagedDeletionCostAnnotationKey: cost}
}
