package catalog

import (
	"slices"
	"strconv"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// reservedPriceDivisor makes a reservation, which is paid for whether it is used or not, as good as free and still keeps the order of the types'
// prices: Karpenter's ten million.
const reservedPriceDivisor = 10_000_000

// capacityBlockDrain is how long before a capacity block ends its nodes are drained. EC2 ends the instances half an hour before the end, and Karpenter
// begins ten minutes before that.
const capacityBlockDrain = 40 * time.Minute

// reservationLabels are the labels that a capacity reservation gives its nodes.
func reservationLabels() []string {
	return []string{api.LabelCapacityReservationID, api.LabelCapacityReservationType, api.LabelCapacityReservationInterruptible}
}

func reservationsByType(class *api.EC2NodeClass) map[string][]api.CapacityReservation {
	byType := map[string][]api.CapacityReservation{}
	for _, reservation := range class.Status.CapacityReservations {
		byType[reservation.InstanceType] = append(byType[reservation.InstanceType], reservation)
	}
	return byType
}

// reservedOfferings has one offering for each of the reservations of the type in a zone of the class's subnets. It is available while the
// reservation has instances left and does not end; a price that is not known makes it free, for it is paid for already.
func (m *model) reservedOfferings(info *InstanceTypeInfo, reservations []api.CapacityReservation, zones map[string]AvailabilityZone, suits bool) []Offering {
	var offerings []Offering
	for i := range reservations {
		reservation := &reservations[i]
		zone, ok := zones[reservation.AvailabilityZone]
		if !ok || !slices.Contains(info.Zones, reservation.AvailabilityZone) {
			continue
		}
		left := max(m.observed.Reservations[reservation.ID], 0)
		kind := reservation.ReservationType
		if kind == "" {
			kind = api.CapacityReservationTypeDefault
		}
		offerings = append(offerings, Offering{
			CapacityType: api.CapacityTypeReserved, Zone: zone.ZoneName, ZoneID: zone.ZoneID,
			ReservationID: reservation.ID, ReservationCapacity: left,
			Requirements: scheduling.NewRequirements(
				scheduling.In(api.LabelCapacityReservationID, reservation.ID),
				scheduling.In(api.LabelCapacityReservationType, kind),
				scheduling.In(api.LabelCapacityReservationInterruptible, strconv.FormatBool(reservation.Interruptible)),
			),
			Price: info.OnDemandPrice / reservedPriceDivisor,
			Available: suits && left > 0 && !ending(reservation, m.now) &&
				!m.observed.Unavailable.HasInGroup(m.group, api.CapacityTypeReserved, info.InstanceType, zone.ZoneName, m.now),
		})
	}
	return offerings
}

// ending reports whether nothing may be launched into the reservation any more, since it ends or is about to.
func ending(reservation *api.CapacityReservation, now time.Time) bool {
	if reservation.State == api.CapacityReservationStateExpiring {
		return true
	}
	if reservation.EndTime == nil {
		return false
	}
	end := reservation.EndTime.Time
	if reservation.ReservationType == api.CapacityReservationTypeCapacityBlock {
		end = end.Add(-capacityBlockDrain)
	}
	return !now.Before(end)
}

// withReserved puts the reserved offerings among the others, which then say that their nodes have none of a reservation's labels.
func withReserved(offerings, reserved []Offering) []Offering {
	if len(reserved) > 0 {
		none := scheduling.Requirements{}
		for _, key := range reservationLabels() {
			none.Add(scheduling.DoesNotExist(key))
		}
		for i := range offerings {
			offerings[i].Requirements = none
		}
		offerings = append(offerings, reserved...)
	}
	sortOfferings(offerings)
	return offerings
}

// openReservationLabels leaves the labels of reservations to the offerings of a type, some of which have them.
func openReservationLabels(requirements scheduling.Requirements) {
	for _, key := range reservationLabels() {
		requirements[key] = scheduling.NotIn(key)
	}
}
