package simulate

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/apiserver"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/engine"
)

// TestProposalsOfNodesWithJobsMayBeRejected has a node that is proposed and rejected ten times. Where a pod
// comes to it each time in between, that is nobody's fault.
func TestProposalsOfNodesWithJobsMayBeRejected(t *testing.T) {
	for _, jobs := range []bool{true, false} {
		r := &Run{store: apiserver.NewStore(time.Now), proposals: map[string]int{}, violations: map[string]bool{}}
		r.engine, r.weather = engine.New(1, func() {}), &weather{run: r}
		r.store.Listen(r.proposed)
		claim := &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
		if _, err := r.store.Create(apiserver.NodeClaims, claim); err != nil {
			t.Fatal(err)
		}
		change := func(change func(*api.NodeClaim)) {
			apiserver.Update(r.store, apiserver.NodeClaims, "", "a", func(claim *api.NodeClaim) bool {
				change(claim)
				return true
			})
		}
		at := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
		for i := range 10 {
			proposed := at.Add(time.Duration(i) * time.Minute)
			change(func(claim *api.NodeClaim) {
				claim.Annotations = map[string]string{api.ProposedAnnotationKey: proposed.Format(time.RFC3339) + ",a"}
			})
			if jobs {
				change(func(claim *api.NodeClaim) {
					claim.Status.LastPodEventTime = metav1.NewTime(proposed.Add(10 * time.Second))
				})
			}
			change(func(claim *api.NodeClaim) { claim.Annotations = nil })
		}
		if broken := len(r.result.Violations) > 0; broken == jobs {
			t.Errorf("with jobs %t: %q", jobs, r.result.Violations)
		}
	}
}
