package response

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
)

// Unavailable returns the offerings that EC2 takes back. They are left out of launches for
// catalog.UnavailableFor.
func Unavailable(responses []*Response, now time.Time) *catalog.Unavailable {
	marks := &catalog.Unavailable{}
	for _, response := range responses {
		labels := response.Claim.Labels
		instanceType, zone := labels[corev1.LabelInstanceTypeStable], labels[corev1.LabelTopologyZone]
		if !response.hasShortage() || instanceType == "" || zone == "" {
			continue
		}
		capacityType := labels[api.CapacityTypeLabelKey]
		if capacityType == "" {
			capacityType = api.CapacityTypeSpot
		}
		// Other reservations of the type in the zone keep their capacity.
		if id := labels[api.LabelCapacityReservationID]; capacityType == api.CapacityTypeReserved && id != "" {
			marks.LeaveOut(catalog.ReservationKey(id), now.Add(catalog.UnavailableFor))
			continue
		}
		marks.Mark(capacityType, instanceType, zone, now)
	}
	return marks
}

// renewBelow is how long a mark must still last to need no renewal. In a storm many nodes of one
// offering are taken, and writers of the same mark would conflict with each other.
const renewBelow = catalog.UnavailableFor / 2

// NeedsMark returns whether one of the marks is not known yet, or ends soon.
func NeedsMark(known, marks *catalog.Unavailable, now time.Time) bool {
	for key := range marks.Until {
		if known.Until[key].Sub(now) < renewBelow {
			return true
		}
	}
	return false
}
