package catalog

import (
	"strconv"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// placementGroup is the group that the class's nodes are launched into; nil if it selects none, or which one it is is not known yet, in which case the
// class is not ready.
func placementGroup(class *api.EC2NodeClass) *api.PlacementGroup {
	if class.Spec.PlacementGroupSelector == nil {
		return nil
	}
	return class.Status.PlacementGroup
}

// addPlacementLabels says that nodes are in the group, and that those of a group with partitions may be in any of them. A nil group adds nothing.
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
