package nodeclass

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// CapacityReservation is a selected capacity reservation, with its number of free instances at the
// time of the reading.
type CapacityReservation struct {
	api.CapacityReservation
	AvailableInstances int
}

// expiringBefore is the time before its end at which a capacity block counts as expiring. EC2
// begins to terminate its instances 30 minutes before the end, and the nodes drain before that.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-how.html
const expiringBefore = 40 * time.Minute

// capacityReservations returns the reservations of the status, sorted by id. Only capacity blocks
// expire, because the end of an ordinary reservation leaves its instances running.
func capacityReservations(found []CapacityReservation, now time.Time) []api.CapacityReservation {
	sorted := slices.SortedFunc(
		slices.Values(found), func(a, b CapacityReservation) int { return cmp.Compare(a.ID, b.ID) },
	)
	var list []api.CapacityReservation
	for _, reservation := range slices.CompactFunc(sorted, func(a, b CapacityReservation) bool { return a.ID == b.ID }) {
		made := reservation.CapacityReservation
		made.State = api.CapacityReservationStateActive
		if end := made.EndTime; end != nil {
			if !end.After(now) {
				continue
			}
			if made.ReservationType == api.CapacityReservationTypeCapacityBlock && end.Sub(now) <= expiringBefore {
				made.State = api.CapacityReservationStateExpiring
			}
			// The API server stores whole seconds. A finer time would look like a change.
			made.EndTime = &metav1.Time{Time: end.Truncate(time.Second)}
		}
		list = append(list, made)
	}
	return list
}
