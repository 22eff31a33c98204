package catalog

import (
	"strconv"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// PlacementGroup is the EC2 placement group that an EC2NodeClass's placementGroupSelector has found.
type PlacementGroup struct {
	// ID is such as pg-0123456789abcdef0.
	ID string
	// Strategy is cluster, spread or partition.
	Strategy string
	// PartitionCount is the number of partitions of a group of the strategy partition, zero for others.
	PartitionCount int
}

// PlacementGroupStrategyPartition is the strategy whose groups have partitions, which pods may be spread over.
const PlacementGroupStrategyPartition = "partition"

// addLabels says that nodes are in the group, and that those of a group with partitions may be in any of them. A nil group adds nothing.
func (g *PlacementGroup) addLabels(requirements scheduling.Requirements) {
	if g == nil {
		return
	}
	requirements[api.LabelPlacementGroupID] = scheduling.In(api.LabelPlacementGroupID, g.ID)
	if g.Strategy != PlacementGroupStrategyPartition || g.PartitionCount <= 0 {
		return
	}
	partitions := make([]string, g.PartitionCount)
	for i := range partitions {
		partitions[i] = strconv.Itoa(i + 1)
	}
	requirements[api.LabelPlacementGroupPartition] = scheduling.In(api.LabelPlacementGroupPartition, partitions...)
}
