package nodeclass

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// CapacityReservation is a capacity reservation that a term selects, with how
// many more instances could be launched into it when it was read.
type CapacityReservation struct {
	api.CapacityReservation
	AvailableInstances int
}

// expiringBefore is how long before its end a capacity block counts as expiring:
// EC2 begins to end its instances 30 minutes before the end, and a node needs
// some minutes to be drained before that.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-how.html
const expiringBefore = 40 * time.Minute

// capacityReservations are the status's, by id. An ordinary reservation that
// ends leaves its instances running, so that only a capacity block expires.
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
			// The API server keeps whole seconds; anything finer would read as a change.
			made.EndTime = &metav1.Time{Time: end.Truncate(time.Second)}
		}
		list = append(list, made)
	}
	return list
}
