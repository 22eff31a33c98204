package fleet

import (
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/launch"
)

// Shortage is capacity that EC2 lacks now. Another offering, or the same one later, may have
// capacity.
type Shortage struct {
	// Key is the key of catalog.Unavailable to leave out, and For the time.
	Key string
	For time.Duration
	// Code and Message are EC2's.
	Code, Message string
}

// lack is the scope of a shortage, and the time for which Whittle believes it.
type lack struct {
	scope scope
	lasts time.Duration
}

// scope is the part of EC2's offer that a shortage is about.
type scope int

const (
	ofOffering     scope = iota + 1 // the type in the zone, with this capacity type
	ofSubnet                        // all launches in the subnet
	ofQuota                         // all families with the type's vCPU quota, with this capacity type
	ofCapacityType                  // all launches with this capacity type
	ofEverything                    // all launches
	ofGroupZone                     // all launches into the placement group in the zone
)

// lackOf returns the shortage that an error code of CreateFleet or RunInstances stands for, or
// false where it stands for none. Karpenter leaves out everything for three minutes. The times here
// are those in which the answer may change.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
func lackOf(code string) (lack, bool) {
	known, has := map[string]lack{
		// Capacity changes within minutes. This is Karpenter's time.
		"InsufficientInstanceCapacity": {ofOffering, catalog.UnavailableFor},
		"InsufficientHostCapacity":     {ofOffering, catalog.UnavailableFor},
		"InsufficientCapacity":         {ofOffering, catalog.UnavailableFor},
		"UnfulfillableCapacity":        {ofOffering, catalog.UnavailableFor},
		// Whittle sets no maximum price, so the spot price is above on-demand. It changes slowly.
		"SpotMaxPriceTooLow": {ofOffering, catalog.UnavailableFor},
		// The zone does not have the type, or not with these settings. AWS adds types within days,
		// but a change of the EC2NodeClass may help sooner.
		codeUnsupported:       {ofOffering, unsuitableFor},
		"InvalidInstanceType": {ofOffering, unsuitableFor},
		// EBS has no room for the root volume in the zone.
		"InsufficientVolumeCapacity": {ofOffering, catalog.UnavailableFor},
		// The reservation is used up. Its count is read again each minute.
		"ReservationCapacityExceeded": {ofOffering, time.Minute},
		// The reservation has ended or is being changed.
		"InvalidCapacityReservationState.Unavailable": {ofOffering, catalog.UnavailableFor},
		"InvalidCapacityReservationId.NotFound":       {ofOffering, catalog.UnavailableFor},
		// Addresses become free as pods and nodes end, but a full subnet is soon full again.
		"InsufficientFreeAddressesInSubnet": {ofSubnet, catalog.UnavailableFor},
		// A cluster placement group has instances in another zone, and no room in this one while they run.
		"InvalidPlacementGroup.InUse": {ofGroupZone, catalog.UnavailableFor},
		// A quota has room again after a request to AWS, or when instances of the same families
		// end.
		"VcpuLimitExceeded":            {ofQuota, 5 * time.Minute},
		"MaxSpotInstanceCountExceeded": {ofQuota, 5 * time.Minute},
		"InstanceLimitExceeded":        {ofOffering, 5 * time.Minute},
		// The account's number of fleets in a region. An instant fleet counts for moments.
		"MaxFleetCountExceeded": {ofEverything, time.Minute},
		// The account may not use spot before its service-linked role exists. Creating it shows
		// soon.
		codeNoSpotRole: {ofCapacityType, catalog.UnavailableFor},
	}[code]
	return known, has
}

// unsuitableFor is how long an offering is left out that EC2 does not have, or not with these settings.
const unsuitableFor = 15 * time.Minute

const (
	codeUnsupported  = "Unsupported"
	codeInvalidValue = "InvalidParameterValue"
	// codeInvalidFleet is about an override or about the whole request. zoneWords are in the message of the
	// first, where the zone does not have the type.
	codeInvalidFleet = "InvalidFleetConfiguration"
	zoneWords        = "not supported in your requested Availability Zone"
)

// unfit returns what to leave out for the request's class after a refusal of one override that no
// pattern explains. Another type, zone or capacity type may do, and this one would be refused again.
func unfit(request *launch.Request, override launch.Override, failure *Failure) (Shortage, bool) {
	if failure.Reason != api.ReasonLaunchFailed || override.InstanceType == "" || override.Zone == "" {
		return Shortage{}, false
	}
	return ofClass(request, override, failure), true
}

// ofClass leaves the override's offering out for the request's class.
func ofClass(request *launch.Request, override launch.Override, failure *Failure) Shortage {
	key := catalog.OfferingKey(request.CapacityType, override.InstanceType, override.Zone)
	return Shortage{
		Key: catalog.OfClass(key, request.Tags[api.NodeClassTagKey]), For: unsuitableFor, Code: failure.Code,
		Message: failure.Message,
	}
}

// codeNoSpotRole is EC2's answer to the first spot request of an account whose caller may not
// create the service-linked role for spot.
const codeNoSpotRole = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"

// spreadWords are in EC2's message when a spread placement group has its maximum of instances in a
// zone.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/placement-strategies.html#placement-groups-limitations-spread
const spreadWords = "spread placement group"

// shortage returns the shortage that an error about one override of the request stands for, or
// false where it stands for none.
func shortage(request *launch.Request, override launch.Override, reservationID, code, message string) (Shortage, bool) {
	known := code
	if code == codeInvalidFleet && strings.Contains(message, zoneWords) {
		known = codeUnsupported
	}
	about, short := lackOf(known)
	group := ""
	if len(request.Templates) > 0 {
		group = request.Templates[0].Content.PlacementGroup // all templates have the group of their class
	}
	if group != "" && strings.Contains(message, spreadWords) {
		about, short = lack{ofGroupZone, catalog.UnavailableFor}, true
	}
	if !short {
		return Shortage{}, false
	}
	made := Shortage{For: about.lasts, Code: code, Message: message}
	// Reserved instances count against the on-demand quota.
	capacityType := request.CapacityType
	switch about.scope {
	case ofOffering:
		made.Key = catalog.OfferingKey(capacityType, override.InstanceType, override.Zone)
		switch {
		case reservationID != "":
			made.Key = catalog.ReservationKey(reservationID)
		case group != "":
			made.Key = catalog.InGroup(made.Key, group)
		}
	case ofGroupZone:
		made.Key = catalog.GroupZoneKey(override.Zone, group)
	case ofSubnet:
		made.Key = catalog.SubnetKey(override.SubnetID)
	case ofQuota:
		made.Key = catalog.QuotaKey(capacityType, override.InstanceType)
	case ofCapacityType:
		made.Key = catalog.CapacityTypeKey(capacityType)
	case ofEverything:
		made.Key = catalog.CapacityTypeKey("")
	}
	return made, true
}
