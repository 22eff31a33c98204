package disruption_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// TestADrainEndsByTheEarlierOfBothTimes: what AWS has announced never gives pods more time than the
// claim's own grace period, also while nobody has written down when that ends.
func TestADrainEndsByTheEarlierOfBothTimes(t *testing.T) {
	at := func(minutes int) time.Time {
		return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(minutes) * time.Minute)
	}
	for name, test := range map[string]struct {
		grace, deleted, written int // minutes; 0 for none
		announced               int
		want                    int
	}{
		"no grace period":                                 {0, 0, 0, 25, 25},
		"a later end was written":                         {0, 0, 40, 25, 25},
		"an earlier end was written":                      {0, 0, 20, 25, 0},
		"the grace period ends earlier":                   {8, 0, 0, 25, 0},
		"the grace period ends later":                     {30, 0, 0, 25, 25},
		"deleted, and the grace period ends earlier":      {8, -1, 0, 25, 0},
		"deleted, and the grace period ends later":        {30, -1, 0, 25, 25},
		"deleted long ago, and the grace period is over":  {8, -20, 0, 25, 0},
		"the announced time has passed: an hour is left":  {0, 0, 0, -5, 60},
		"deleted, the grace period ends within that hour": {8, -1, 0, -5, 0},
	} {
		t.Run(name, func(t *testing.T) {
			claim := &api.NodeClaim{}
			if test.grace > 0 {
				claim.Spec.TerminationGracePeriod = &metav1.Duration{Duration: time.Duration(test.grace) * time.Minute}
			}
			if test.deleted != 0 {
				claim.DeletionTimestamp = &metav1.Time{Time: at(test.deleted)}
			}
			if test.written != 0 {
				claim.Annotations = map[string]string{
					api.NodeClaimTerminationTimestampAnnotationKey: at(test.written).Format(time.RFC3339),
				}
			}
			patch := disruption.EndBy(claim, at(test.announced), at(0))
			metadata, _ := patch["metadata"].(map[string]any)
			annotations, _ := metadata["annotations"].(map[string]any)
			got, _ := annotations[api.NodeClaimTerminationTimestampAnnotationKey].(string)
			want := ""
			if test.want != 0 {
				want = at(test.want).Format(time.RFC3339)
			}
			if got != want {
				t.Errorf("the drain is to end by %q, want %q", got, want)
			}
		})
	}
}
