package main

import (
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/fleet"
)

// purchase is what an instance costs and what the way it was bought says of it.
type purchase struct {
	price, onDemand float64 // dollars an hour; zero where it is not known
	labels          map[string]string
}

// savings is what the instance costs less than on demand, in dollars an hour; zero where a price is not known.
func (p purchase) savings() float64 {
	if p.price <= 0 || p.onDemand <= 0 {
		return 0
	}
	return p.onDemand - p.price
}

// purchaseOf looks the instance up among its type's offerings.
func purchaseOf(instanceType *catalog.InstanceType, instance *fleet.Instance) purchase {
	made := purchase{labels: map[string]string{}}
	for _, offering := range instanceType.Offerings {
		if offering.Zone != instance.Zone {
			continue
		}
		if offering.ZoneID != "" {
			made.labels[api.LabelTopologyZoneID] = offering.ZoneID
		}
		if offering.CapacityType == api.CapacityTypeOnDemand {
			made.onDemand = offering.Price
		}
		if offering.CapacityType != instance.CapacityType || offering.ReservationID != instance.ReservationID {
			continue
		}
		made.price = offering.Price
		for key, value := range offering.Requirements.Labels() {
			made.labels[key] = value
		}
	}
	if instance.ReservationID != "" {
		made.labels[api.LabelCapacityReservationID] = instance.ReservationID
	}
	return made
}
