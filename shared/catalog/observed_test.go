package catalog_test

import (
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
)

func TestClaimsTakeFromReservationsUntilEC2CountsThem(t *testing.T) {
	read := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	asks := func(ids ...string) api.NodeClaim {
		var claim api.NodeClaim
		claim.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{
			{Key: api.LabelCapacityReservationID, Operator: corev1.NodeSelectorOpIn, Values: ids},
		}
		return claim
	}
	launched := func(id string, at time.Time) api.NodeClaim {
		claim := asks(id)
		claim.Labels = map[string]string{api.LabelCapacityReservationID: id}
		claim.Status.Conditions = []metav1.Condition{
			{Type: api.ConditionTypeLaunched, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(at)},
		}
		return claim
	}
	counts := map[string]catalog.ReservationCount{"cr-1": {Available: 4, Time: read}, "cr-2": {Available: 1, Time: read}}
	claims := []api.NodeClaim{
		asks("cr-1"), launched("cr-1", read.Add(time.Second)), launched("cr-1", read.Add(-time.Second)),
		asks("cr-2"), asks("cr-2"), asks("cr-3"), {},
	}
	if got, want := catalog.Available(counts, claims), map[string]int{"cr-1": 2, "cr-2": 0}; !maps.Equal(got, want) {
		t.Errorf("available are %v, want %v", got, want)
	}
}

// TestUnlaunchedClaimsTakeFromEachReservation has a claim that names two reservations. It counts
// against both until its launch decides for one.
func TestUnlaunchedClaimsTakeFromEachReservation(t *testing.T) {
	counts := map[string]catalog.ReservationCount{"cr-1": {Available: 4}, "cr-2": {Available: 1}}
	var claim api.NodeClaim
	claim.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{
		{Key: api.LabelCapacityReservationID, Operator: corev1.NodeSelectorOpIn, Values: []string{"cr-1", "cr-2"}},
	}
	want := map[string]int{"cr-1": 3, "cr-2": 0}
	if got := catalog.Available(counts, []api.NodeClaim{claim}); !maps.Equal(got, want) {
		t.Errorf("before the launch %v are available, want %v", got, want)
	}
	claim.Labels = map[string]string{api.LabelCapacityReservationID: "cr-1"}
	want["cr-2"] = 1
	if got := catalog.Available(counts, []api.NodeClaim{claim}); !maps.Equal(got, want) {
		t.Errorf("after the launch %v are available, want %v", got, want)
	}
}
