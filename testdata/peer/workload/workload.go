package workload

import (
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
)

// Workload is a kind of cluster with pods that wait.
type Workload struct {
	Name string
	// Description says in a line what the pods are.
	Description string
	// Features workloads are small and there to compare what is understood; the others come in Sizes
	// and are there to compare speed and price.
	Features bool
	// Snapshot makes the cluster with a number of pods, whose nodes may be of the capacity types and
	// of the instance types.
	Snapshot func(pods int, capacityTypes []string, types []catalog.InstanceType) *plan.Snapshot
}

// Sizes are the numbers of pods that workloads come in.
func Sizes() []int { return []int{500, 2000, 5000, 20000} }

// CapacityTypes are the two ways to buy that workloads come in.
func CapacityTypes() [][]string {
	return [][]string{{api.CapacityTypeOnDemand}, {api.CapacityTypeSpot, api.CapacityTypeOnDemand}}
}

// All are the workloads, in the order in which tables have them.
func All() []Workload {
	return []Workload{
		{
			Name:        "diverse",
			Description: "a fifth each of generic pods, zone spread, host spread, affinity within a zone, anti-affinity between hosts",
			Snapshot:    onePool(diverse),
		},
		{
			Name:        "deployments",
			Description: "10 to 200 equal replicas of pods of many sizes",
			Snapshot:    onePool(deployments),
		},
		{
			Name:        "batch",
			Description: "log-normal requests of cpu and memory, no two pods alike",
			Snapshot:    onePool(batch),
		},
		{
			Name:        "preferences",
			Description: "preferred node affinity, pod affinity and anti-affinity, and spread that may give way; preferences respected",
			Features:    true,
			Snapshot:    onePool(preferences),
		},
		{
			Name:        "preferences ignored",
			Description: "the same pods, preferences ignored",
			Features:    true,
			Snapshot:    ignoringPreferences(onePool(preferences)),
		},
		{
			Name:        "volumes",
			Description: "half the pods mount a volume that lies in a zone, half claim one that its storage class allows in two zones",
			Features:    true,
			Snapshot:    zonalVolumes,
		},
		{
			Name:        "node pools",
			Description: "four pools with weights, limits, taints and labels, and a daemon set",
			Features:    true,
			Snapshot:    nodePools,
		},
		{
			Name:        "existing nodes",
			Description: "48 nodes, partly full, some still on their way; spread and anti-affinity against what runs",
			Features:    true,
			Snapshot:    existingNodes,
		},
	}
}
