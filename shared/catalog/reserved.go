package catalog

import (
	"slices"
	"strconv"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// reservedPriceDivisor makes a reservation almost free, because it is paid for in any case, and
// keeps the order of the types' prices. It is Karpenter's ten million.
const reservedPriceDivisor = 10_000_000

// capacityBlockDrain is the time before the end of a capacity block at which its nodes drain. EC2
// terminates the instances 30 minutes before the end, and Karpenter begins 10 minutes earlier.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-blocks.html
const capacityBlockDrain = 40 * time.Minute

// reservationLabels returns the labels that a capacity reservation gives its nodes.
func reservationLabels() []string {
	return []string{
		api.LabelCapacityReservationID, api.LabelCapacityReservationType, api.LabelCapacityReservationInterruptible,
	}
}

func reservationsByType(class *api.EC2NodeClass) map[string][]api.CapacityReservation {
	byType := map[string][]api.CapacityReservation{}
	for _, reservation := range class.Status.CapacityReservations {
		byType[reservation.InstanceType] = append(byType[reservation.InstanceType], reservation)
	}
	return byType
}

// reservedOfferings returns one offering for each reservation of the type in a zone of the class's
// subnets. It is available while the reservation has free instances and is not ending. A type with
// an unknown price is free, because the reservation is paid for already.
func (m *model) reservedOfferings(
	info *InstanceTypeInfo, reservations []api.CapacityReservation, zones map[string]AvailabilityZone,
	suits bool,
) []Offering {
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
				!m.observed.Unavailable.HasFor(m.class, api.CapacityTypeReserved, info.InstanceType, zone.ZoneName, m.now),
		})
	}
	return offerings
}

// ending reports whether the reservation has ended or is about to, so that nothing may be launched
// into it.
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

// withReserved adds the reserved offerings to the others, and marks those as having no label of a
// reservation.
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

// openReservationLabels removes the reservation labels from the requirements of a type, because its
// offerings determine them.
func openReservationLabels(requirements scheduling.Requirements) {
	for _, key := range reservationLabels() {
		requirements[key] = scheduling.NotIn(key)
	}
}
