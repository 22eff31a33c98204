package fleet

import (
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/launch"
)

// Shortage is capacity that EC2 lacks now, or refuses. Another offering, or the same one later, may
// have capacity.
type Shortage struct {
	// Key is the key of catalog.Unavailable to leave out, and For the time.
	Key string
	For time.Duration
	// Code and Message are EC2's.
	Code, Message string
	// Refused is true where EC2 has room and refuses the launch, for the class only.
	Refused bool
}

// unfit returns what to leave out for the request's class after a refusal of one override that no
// row explains. Another type, zone or capacity type may do, and this one would be refused again.
func unfit(request *launch.Request, override launch.Override, failure *Failure) (Shortage, bool) {
	if failure.Reason != api.ReasonLaunchFailed || !names(override) {
		return Shortage{}, false
	}
	return ofClassOnly(request, override, failure, unsuitableFor), true
}

// names reports whether the override of an error is known.
func names(override launch.Override) bool { return override.InstanceType != "" && override.Zone != "" }

// ofClassOnly leaves the override's offering out for the request's class.
func ofClassOnly(request *launch.Request, override launch.Override, failure *Failure, lasts time.Duration) Shortage {
	key := catalog.OfferingKey(request.CapacityType, override.InstanceType, override.Zone)
	return Shortage{
		Key: catalog.OfClass(key, request.Tags[api.NodeClassTagKey]), For: lasts, Code: failure.Code,
		Message: failure.Message, Refused: true,
	}
}

// spreadWords are in EC2's message when a spread placement group has its maximum of instances in a
// zone.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/placement-strategies.html#placement-groups-limitations-spread
const spreadWords = "spread placement group"

// shortage returns the shortage that an error about one override of the request stands for, or
// false where it stands for none. Karpenter leaves out everything for three minutes. The times in
// the table are those in which the answer may change.
func shortage(request *launch.Request, override launch.Override, reservationID, code, message string) (Shortage, bool) {
	about, known := answerTo(code, message)
	group := ""
	if len(request.Templates) > 0 {
		group = request.Templates[0].Content.PlacementGroup // all templates have the group of their class
	}
	if group != "" && strings.Contains(message, spreadWords) {
		about, known = answer{scope: ofGroupZone, lasts: catalog.UnavailableFor}, true
	}
	if !known || !about.scope.isShortage() {
		return Shortage{}, false
	}
	if about.scope == ofSuited {
		return ofClassOnly(request, override, failureOf(code, message), about.lasts), true
	}
	made := Shortage{For: about.lasts, Code: code, Message: message}
	made.Key = keyOf(about.scope, request.CapacityType, override, reservationID, group)
	return made, true
}

// keyOf returns the key of catalog.Unavailable for the scope. Reserved instances count against the
// on-demand quota.
func keyOf(about scope, capacityType string, override launch.Override, reservationID, group string) string {
	switch about {
	case ofGroupZone:
		return catalog.GroupZoneKey(override.Zone, group)
	case ofSubnet:
		return catalog.SubnetKey(override.SubnetID)
	case ofQuota:
		return catalog.QuotaKey(capacityType, override.InstanceType)
	case ofCapacityType:
		return catalog.CapacityTypeKey(capacityType)
	case ofRegion:
		return catalog.CapacityTypeKey("")
	}
	key := catalog.OfferingKey(capacityType, override.InstanceType, override.Zone)
	switch {
	case reservationID != "":
		return catalog.ReservationKey(reservationID)
	case group != "":
		return catalog.InGroup(key, group)
	}
	return key
}
