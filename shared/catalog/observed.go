package catalog

import (
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/kubelet"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Observed holds the observations of EC2's offer since the catalogue was read. The zero value is
// none.
type Observed struct {
	// Unavailable holds the offerings that EC2 recently lacked; nil is none.
	Unavailable *Unavailable
	// Reservations are the free instances of each capacity reservation, by id.
	Reservations map[string]int
	// Covers are what is left of commitments: Reserved Instances and Savings Plans.
	Covers []Cover
	// Learned holds the observed capacities of nodes; nil is none.
	Learned *Learned
	// Kubelet holds the values of the classes' kubelet expressions. A type without them cannot be
	// bought for a class with expressions.
	Kubelet kubelet.Evaluations
}

// ReservationCount is the number of free instances of a capacity reservation.
type ReservationCount struct {
	Available int `json:"available"`
	// Time is the time of EC2's answer. Instances launched later are not in the count.
	Time time.Time `json:"time"`
}

// Available returns the free instances of each reservation: the counts without the instances that
// the claims have taken, or are going to take, since EC2's answer.
func Available(counts map[string]ReservationCount, claims []api.NodeClaim) map[string]int {
	available := make(map[string]int, len(counts))
	for id, count := range counts {
		available[id] = count.Available
	}
	for i := range claims {
		claim := &claims[i]
		for _, id := range reservationsOf(claim) {
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
	}
	return available
}

// reservationsOf are the capacity reservation that the claim's instance comes from, or before its
// launch all those that it may come from.
func reservationsOf(claim *api.NodeClaim) []string {
	if id := claim.Labels[api.LabelCapacityReservationID]; id != "" {
		return []string{id}
	}
	for _, wanted := range claim.Spec.Requirements {
		if wanted.Key == api.LabelCapacityReservationID && wanted.Operator == corev1.NodeSelectorOpIn {
			return wanted.Values
		}
	}
	return nil
}
