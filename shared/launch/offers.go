package launch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// offer is an override before its image is known.
type offer struct {
	Override
	capacityType  string
	reservationID string
	capacity      int // instances left in the reservation
	priceOverlay  bool
	of            *catalog.InstanceType
	variety       variety // known once vary has set it
}

// chosen are the offers of a request. All are of one capacity type, and reserved ones are of one
// kind of reservation.
type chosen struct {
	offers       []offer
	capacityType string
	reservation  api.CapacityReservation // one of those used, or zero
}

// choose filters the offers for the claim, in Karpenter's order.
func (in *Input) choose(all scheduling.Requirements) (chosen, error) {
	requirements := OfType(all)
	offers := in.available(requirements)
	if len(offers) == 0 {
		return chosen{}, fmt.Errorf("%w: %s", ErrNoOffering, requirements)
	}
	reservations := in.reservations()
	offers = onePartition(offers, reservations)
	offers = oneBlock(offers, reservations)
	offers = fullestReservations(offers)
	least := minValues(requirements, in.Claim)
	if len(least) == 0 {
		offers = withoutExotic(offers)
		offers = withoutDearSpot(offers)
	}
	if err := checkMinValues(offers, least); err != nil {
		return chosen{}, err
	}
	made := chosen{capacityType: firstCapacityType(offers)}
	offers = slices.DeleteFunc(offers, func(o offer) bool { return o.capacityType != made.capacityType })
	if made.capacityType == api.CapacityTypeReserved {
		made.reservation = reservations[offers[0].reservationID]
	}
	offers, err := in.vary(all, offers)
	if err != nil {
		return made, err
	}
	made.offers, err = truncate(offers, least)
	return made, err
}

// available are the offers that the claim allows, that fit its requests, and that EC2 has not been
// short of lately.
func (in *Input) available(requirements scheduling.Requirements) []offer {
	subnets := in.subnets()
	enclaves := wants(in.Claim, api.ResourceNitroSandbox)
	var offers []offer
	for i := range in.Types {
		instanceType := &in.Types[i]
		if !instanceType.Requirements.IsCompatible(requirements, scheduling.UndefinedIsAbsent) ||
			!fits(in.Claim.Spec.Resources.Requests, instanceType.Allocatable) || enclaves && !hasEnclaves(instanceType) {
			continue
		}
		for j := range instanceType.Offerings {
			offering := &instanceType.Offerings[j]
			subnet, has := subnets[offering.Zone]
			// What a commitment pays for is the same on-demand instance once more.
			if !has || offering.Coverage != nil || !offering.Available || !offering.AllowedBy(requirements) ||
				in.short(instanceType.Name, offering) {
				continue
			}
			offers = append(offers, offer{
				Override: Override{
					InstanceType: instanceType.Name,
					Zone:         offering.Zone,
					SubnetID:     subnet,
					Price:        offering.Price,
				},
				capacityType:  offering.CapacityType,
				reservationID: offering.ReservationID, capacity: offering.ReservationCapacity,
				priceOverlay: offering.PriceOverlay, of: instanceType,
			})
		}
	}
	return offers
}

// short returns whether EC2 was short of the offering since the types were resolved, or its zone was
// shifted away.
func (in *Input) short(instanceType string, offering *catalog.Offering) bool {
	if in.Unavailable.IsShifted(offering.ZoneID, in.Now) {
		return true
	}
	if offering.ReservationID != "" && in.Unavailable.HasReservation(offering.ReservationID, in.Now) {
		return true
	}
	return in.Unavailable.HasFor(in.Class, offering.CapacityType, instanceType, offering.Zone, in.Now)
}

// reservations are the class's capacity reservations by their ids.
func (in *Input) reservations() map[string]api.CapacityReservation {
	byID := map[string]api.CapacityReservation{}
	for _, reservation := range in.Class.Status.CapacityReservations {
		byID[reservation.ID] = reservation
	}
	return byID
}

// firstCapacityType is the first of reserved, spot and on-demand that is offered.
func firstCapacityType(offers []offer) string {
	for _, capacityType := range []string{api.CapacityTypeReserved, api.CapacityTypeSpot} {
		if slices.ContainsFunc(offers, func(o offer) bool { return o.capacityType == capacityType }) {
			return capacityType
		}
	}
	return api.CapacityTypeOnDemand
}

// byPrice orders offers, the cheapest first. The order does not depend on that of the types.
func byPrice(a, b offer) int {
	return cmp.Or(
		cmp.Compare(a.Price, b.Price), strings.Compare(a.InstanceType, b.InstanceType), strings.Compare(a.Zone, b.Zone),
		strings.Compare(a.reservationID, b.reservationID))
}

func fits(requests, allocatable corev1.ResourceList) bool {
	for name, requested := range requests {
		if name == api.ResourceNitroSandbox {
			continue // no type has a quantity of it: see hasEnclaves
		}
		if available := allocatable[name]; requested.Cmp(available) > 0 {
			return false
		}
	}
	return true
}

func hasEnclaves(instanceType *catalog.InstanceType) bool {
	return instanceType.Requirements[api.LabelNitroSandbox].Has("true")
}

// wants returns whether the claim requests some of the resource.
func wants(claim *api.NodeClaim, name corev1.ResourceName) bool {
	requested, has := claim.Spec.Resources.Requests[name]
	return has && !requested.IsZero()
}

// podsPerNode is the least number of pods that one of the types takes.
func (c *chosen) podsPerNode() int {
	least := 0
	for _, offer := range c.offers {
		if pods := int(offer.of.Capacity.Pods().Value()); pods > 0 && (least == 0 || pods < least) {
			least = pods
		}
	}
	return least
}

// onDemandPrice is the on-demand price of each type in its cheapest zone.
func (c *chosen) onDemandPrice() map[string]float64 {
	prices := map[string]float64{}
	for _, offer := range c.offers {
		for _, offering := range offer.of.Offerings {
			known, has := prices[offer.InstanceType]
			if offering.CapacityType == api.CapacityTypeOnDemand && offering.Coverage == nil && offering.Price > 0 &&
				(!has || offering.Price < known) {
				prices[offer.InstanceType] = offering.Price
			}
		}
	}
	return prices
}
