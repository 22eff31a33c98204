package snapshot

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
)

// FreeSlot adds a slot to a capacity reservation, as if one of its nodes had ended. It replaces the
// lists of types, which other snapshots may share.
func FreeSlot(made *plan.Snapshot, reservation string) {
	for pool, types := range made.InstanceTypes {
		types = slices.Clone(types)
		for i := range types {
			types[i].Offerings = withSlot(types[i].Offerings, reservation)
		}
		made.InstanceTypes[pool] = types
	}
}

func withSlot(offerings []catalog.Offering, reservation string) []catalog.Offering {
	if !slices.ContainsFunc(offerings, func(o catalog.Offering) bool { return o.ReservationID == reservation }) {
		return offerings
	}
	offerings = slices.Clone(offerings)
	for j := range offerings {
		if offerings[j].ReservationID == reservation {
			offerings[j].ReservationCapacity++
			offerings[j].Available = true
		}
	}
	return offerings
}
