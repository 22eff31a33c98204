package catalog

import (
	"strconv"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// placementGroup returns the group into which the class's nodes are launched. It returns nil where
// the class selects none, or the group is not resolved yet, in which case the class is not ready.
func placementGroup(class *api.EC2NodeClass) *api.PlacementGroup {
	if class.Spec.PlacementGroupSelector == nil {
		return nil
	}
	return class.Status.PlacementGroup
}

// addPlacementLabels requires the group's labels, with any of its partitions. A nil group adds
// nothing.
func addPlacementLabels(requirements scheduling.Requirements, group *api.PlacementGroup) {
	if group == nil {
		return
	}
	requirements[api.LabelPlacementGroupID] = scheduling.In(api.LabelPlacementGroupID, group.ID)
	if group.Strategy != api.PlacementGroupStrategyPartition || group.PartitionCount <= 0 {
		return
	}
	partitions := make([]string, group.PartitionCount)
	for i := range partitions {
		partitions[i] = strconv.Itoa(i + 1)
	}
	requirements[api.LabelPlacementGroupPartition] = scheduling.In(api.LabelPlacementGroupPartition, partitions...)
}
