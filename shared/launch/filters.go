package launch

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// maximumTypes is how many instance types one request names, as in Karpenter. EC2 takes more, but
// limits the size of a request.
const maximumTypes = 60

// maximumTemplates is how many launch templates EC2 takes in one request.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateFleet.html
const maximumTemplates = 50

// partition is the kind of a reservation, in the order of preference at equal prices. A block ends
// at a date, and an interruptible reservation may end at any time.
type partition int

const (
	ordinary partition = iota
	capacityBlock
	interruptible
)

func partitionOf(reservation api.CapacityReservation) partition {
	switch {
	case reservation.Interruptible:
		return interruptible
	case reservation.ReservationType == api.CapacityReservationTypeCapacityBlock:
		return capacityBlock
	}
	return ordinary
}

func isReserved(o offer) bool { return o.capacityType == api.CapacityTypeReserved }

// onePartition drops the reserved offers of other kinds of reservations than that of the cheapest,
// because one fleet launches into one kind.
func onePartition(offers []offer, reservations map[string]api.CapacityReservation) []offer {
	var cheapest *offer
	kind := func(o offer) partition { return partitionOf(reservations[o.reservationID]) }
	for i := range offers {
		o := &offers[i]
		if isReserved(*o) &&
			(cheapest == nil || o.Price < cheapest.Price || o.Price == cheapest.Price && kind(*o) < kind(*cheapest)) {
			cheapest = o
		}
	}
	if cheapest == nil {
		return offers
	}
	kept := kind(*cheapest)
	return slices.DeleteFunc(slices.Clone(offers), func(o offer) bool { return isReserved(o) && kind(o) != kept })
}

// oneBlock keeps the cheapest of the offers of capacity blocks, where there are any. One launch
// goes into one block, which is of one type in one zone.
func oneBlock(offers []offer, reservations map[string]api.CapacityReservation) []offer {
	var blocks []offer
	for _, o := range offers {
		if isReserved(o) && partitionOf(reservations[o.reservationID]) == capacityBlock {
			blocks = append(blocks, o)
		}
	}
	if len(blocks) == 0 {
		return offers
	}
	return []offer{slices.MinFunc(blocks, byPrice)}
}

// fullestReservations keeps only the reserved offers, where there are any. Of those with the same
// type and zone it keeps the one whose reservation has most instances left.
func fullestReservations(offers []offer) []offer {
	best := map[[2]string]offer{}
	for _, o := range offers {
		if !isReserved(o) {
			continue
		}
		key := [2]string{o.InstanceType, o.Zone}
		if other, has := best[key]; !has || o.capacity > other.capacity ||
			o.capacity == other.capacity && byPrice(o, other) < 0 {
			best[key] = o
		}
	}
	if len(best) == 0 {
		return offers
	}
	return slices.SortedFunc(maps.Values(best), byPrice)
}

// withoutExotic drops bare metal, GPUs and accelerators, unless there are no other offers.
func withoutExotic(offers []offer) []offer {
	plain := slices.DeleteFunc(slices.Clone(offers), func(o offer) bool { return o.of.Exotic })
	if len(plain) == 0 {
		return offers
	}
	return plain
}

// withoutDearSpot drops spot offers that cost more than the cheapest on-demand offer.
func withoutDearSpot(offers []offer) []offer {
	cheapest := 0.0
	for _, o := range offers {
		if o.capacityType == api.CapacityTypeOnDemand && (cheapest == 0 || o.Price < cheapest) {
			cheapest = o.Price
		}
	}
	if cheapest == 0 {
		return offers
	}
	return slices.DeleteFunc(slices.Clone(offers), func(o offer) bool {
		return o.capacityType == api.CapacityTypeSpot && o.Price > cheapest
	})
}

// minValues are how many values of each label the request's types must have. There are none for a
// claim whose minValues were relaxed.
func minValues(requirements scheduling.Requirements, claim *api.NodeClaim) map[string]int {
	least := map[string]int{}
	if relaxed(claim) {
		return least
	}
	for key, requirement := range requirements {
		if n, has := requirement.MinValues(); has {
			least[key] = n
		}
	}
	return least
}

// valuesOf are the offer's values of a label.
func valuesOf(o offer, key string) []string {
	switch key {
	case corev1.LabelTopologyZone:
		return []string{o.Zone}
	case api.CapacityTypeLabelKey:
		return []string{o.capacityType}
	}
	values, _ := o.of.Requirements[key].Values()
	return values
}

// checkMinValues returns an error about a label of which the offers have fewer values than
// minValues asks for.
func checkMinValues(offers []offer, least map[string]int) error {
	for _, key := range slices.Sorted(maps.Keys(least)) {
		values := map[string]bool{}
		for _, o := range offers {
			for _, value := range valuesOf(o, key) {
				values[value] = true
			}
		}
		if len(values) < least[key] {
			return fmt.Errorf("%w: minValues asks for %d values of %s, and the available offerings have %d: "+
				"wait, widen the requirement or lower minValues", ErrNoOffering, least[key], key, len(values))
		}
	}
	return nil
}

// truncate keeps the offers of maximumTypes types and maximumTemplates launch templates, sorted by price.
// The offers that minValues needs come first, and then the cheapest.
func truncate(offers []offer, least map[string]int) ([]offer, error) {
	offers = slices.SortedFunc(slices.Values(offers), byPrice)
	needed := bringing(offers, least)
	types, varieties := map[string]bool{}, map[variety]bool{}
	for i := range offers {
		if needed[i] {
			types[offers[i].InstanceType], varieties[offers[i].variety] = true, true
		}
	}
	for _, bound := range []struct {
		needs, holds int
		of           string
	}{{len(types), maximumTypes, "instance types"}, {len(varieties), maximumTemplates, "launch templates"}} {
		if bound.needs > bound.holds {
			return nil, fmt.Errorf("%w: minValues needs %d %s in one request, which holds %d: lower minValues",
				ErrNoOffering, bound.needs, bound.of, bound.holds)
		}
	}
	var kept []offer
	for _, o := range offers {
		fits := varieties[o.variety] || len(varieties) < maximumTemplates
		if fits && (types[o.InstanceType] || len(types) < maximumTypes) {
			types[o.InstanceType], varieties[o.variety] = true, true
			kept = append(kept, o)
		}
	}
	return kept, nil
}

// bringing marks the offers that bring a value which minValues needs. The cheapest bring it.
func bringing(offers []offer, least map[string]int) []bool {
	values := map[string]map[string]bool{}
	for key := range least {
		values[key] = map[string]bool{}
	}
	brings := make([]bool, len(offers))
	for i, o := range offers {
		for key, n := range least {
			for _, value := range valuesOf(o, key) {
				if !values[key][value] && len(values[key]) < n {
					values[key][value] = true
					brings[i] = true
				}
			}
		}
	}
	return brings
}
