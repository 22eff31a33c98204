package main

import (
	"maps"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/fleet"
)

// offeringOf is how the instance was bought, among its type's offerings; nil if that is none of them.
func offeringOf(instanceType *catalog.InstanceType, instance *fleet.Instance) *catalog.Offering {
	for i := range instanceType.Offerings {
		offering := &instanceType.Offerings[i]
		if offering.Zone == instance.Zone && offering.CapacityType == instance.CapacityType && offering.ReservationID == instance.ReservationID {
			return offering
		}
	}
	return nil
}

// offeringLabels are what the offering says of its nodes, beyond their type, zone and capacity type.
func offeringLabels(offering *catalog.Offering) map[string]string {
	labels := maps.Clone(offering.Requirements.Labels())
	if labels == nil {
		labels = map[string]string{}
	}
	if offering.ZoneID != "" {
		labels[api.LabelTopologyZoneID] = offering.ZoneID
	}
	if offering.ReservationID != "" {
		labels[api.LabelCapacityReservationID] = offering.ReservationID
	}
	return labels
}
