package catalog

import (
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Observed is what has been learnt of EC2's offer since the catalogue was read. The zero value is
// nothing.
type Observed struct {
	// Unavailable are the offerings that EC2 could not give lately; nil is none.
	Unavailable *Unavailable
	// Reservations are, by capacity reservation's id, how many instances can still be launched into
	// it.
	Reservations map[string]int
	// Learned are the capacities that nodes have been seen to have; nil is none.
	Learned *Learned
}

// ReservationCount is how many instances a capacity reservation had left.
type ReservationCount struct {
	Available int `json:"available"`
	// Time is when EC2 was asked. Instances launched into the reservation since are not counted.
	Time time.Time `json:"time"`
}

// Available are the counts by reservation, as Observed wants them: less what the claims have taken,
// or are going to take, since EC2 was asked.
func Available(counts map[string]ReservationCount, claims []api.NodeClaim) map[string]int {
	available := make(map[string]int, len(counts))
	for id, count := range counts {
		available[id] = count.Available
	}
	for i := range claims {
		claim := &claims[i]
		id := reservationOf(claim)
		count, known := counts[id]
		if !known {
			continue
		}
		if launched := api.GetCondition(claim.Status.Conditions, api.ConditionTypeLaunched); launched != nil &&
			launched.Status == metav1.ConditionTrue &&
			launched.LastTransitionTime.Time.Before(count.Time) {
			continue // EC2 has counted it
		}
		available[id] = max(available[id]-1, 0)
	}
	return available
}

// reservationOf is the capacity reservation that the claim's instance comes from, or is to come
// from; empty without one.
func reservationOf(claim *api.NodeClaim) string {
	if id := claim.Labels[api.LabelCapacityReservationID]; id != "" {
		return id
	}
	for _, wanted := range claim.Spec.Requirements {
		if wanted.Key == api.LabelCapacityReservationID && wanted.Operator == corev1.NodeSelectorOpIn &&
			len(wanted.Values) == 1 {
			return wanted.Values[0]
		}
	}
	return ""
}
