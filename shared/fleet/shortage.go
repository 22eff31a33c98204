package fleet

import (
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/launch"
)

// Shortage is something that EC2 cannot give now. Another offering, or the same one
// later, may be had.
type Shortage struct {
	// Key is what to leave out, as catalog.Unavailable names it, For how long.
	Key string
	For time.Duration
	// Code and Message are EC2's.
	Code, Message string
}

// lack is what a code of a shortage is about, and how long it is believed.
type lack struct {
	scope scope
	lasts time.Duration
}

// scope is how much of EC2's offer a shortage is about.
type scope int

const (
	ofOffering     scope = iota + 1 // the type in the zone, bought this way
	ofSubnet                        // all that would be launched in the subnet
	ofQuota                         // all families that share the type's vCPU quota, bought this way
	ofCapacityType                  // everything bought this way
	ofEverything                    // whatever it is
	ofGroupZone                     // all that would be launched into the placement group in the zone
)

// lackOf tells what a code of a CreateFleet or RunInstances error is short of; false
// where it is no shortage. Karpenter leaves out whatever it was for three minutes; here
// the time is that in which the answer may change.
func lackOf(code string) (lack, bool) {
	known, has := map[string]lack{
		// Capacity comes and goes within minutes: Karpenter's time.
		"InsufficientInstanceCapacity": {ofOffering, catalog.UnavailableFor},
		"InsufficientHostCapacity":     {ofOffering, catalog.UnavailableFor},
		"InsufficientCapacity":         {ofOffering, catalog.UnavailableFor},
		"UnfulfillableCapacity":        {ofOffering, catalog.UnavailableFor},
		// No price is bid, so that it is the spot market that has moved above on-demand: it moves slowly, in steps of minutes.
		"SpotMaxPriceTooLow": {ofOffering, catalog.UnavailableFor},
		// The zone does not have the type, or not with what is asked for: AWS adds types in days, but a change of the NodeClass may mend it sooner.
		"Unsupported": {ofOffering, 15 * time.Minute},
		// The reservation is used up; its count is read again each minute.
		"ReservationCapacityExceeded": {ofOffering, time.Minute},
		// Addresses come back as pods and nodes end; a subnet that was full is soon full again.
		"InsufficientFreeAddressesInSubnet": {ofSubnet, catalog.UnavailableFor},
		// A quota is raised by a request to AWS, or has room again when instances of the same families end: minutes at the soonest.
		"VcpuLimitExceeded":            {ofQuota, 5 * time.Minute},
		"MaxSpotInstanceCountExceeded": {ofQuota, 5 * time.Minute},
		"InstanceLimitExceeded":        {ofOffering, 5 * time.Minute},
		// The account's number of fleets in a region: an instant one counts for moments.
		"MaxFleetCountExceeded": {ofEverything, time.Minute},
		// The account may not use spot until its service-linked role is there: one call mends it, and soon shows.
		codeNoSpotRole: {ofCapacityType, catalog.UnavailableFor},
	}[code]
	return known, has
}

// codeNoSpotRole is what EC2 answers to the first spot request of an account whose caller may not create the role that spot needs.
const codeNoSpotRole = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"

// spreadWords are in the message of a spread placement group that has as many instances in a zone as it can hold.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/placement-strategies.html#placement-groups-limitations-spread
const spreadWords = "spread placement group"

// shortage is what an error about one override of the request leaves out.
func shortage(request *launch.Request, override launch.Override, reservationID, code, message string) (Shortage, bool) {
	about, short := lackOf(code)
	group := ""
	if len(request.Templates) > 0 {
		group = request.Templates[0].Content.PlacementGroup // its class's, as that of all
	}
	if group != "" && strings.Contains(message, spreadWords) {
		about, short = lack{ofGroupZone, catalog.UnavailableFor}, true
	}
	if !short {
		return Shortage{}, false
	}
	made := Shortage{For: about.lasts, Code: code, Message: message}
	// A reserved instance is paid for by its reservation, and runs under the on-demand quota.
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
