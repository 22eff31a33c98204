package consolidation_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// A node is empty, and its pool removes it in a moment. Moving the only pod of another node to it would evict
// the pod for nothing.
func TestNoPodMovesToANodeThatIsAboutToGo(t *testing.T) {
	s := cluster(someTypes(t, 8), api.CapacityTypeOnDemand)
	after := time.Minute
	s.NodePools[0].Spec.Disruption.ConsolidateAfter = api.NillableDuration{Duration: &after}
	addNode(t, s, "empty", "m5.xlarge", api.CapacityTypeOnDemand)
	addNode(t, s, "used", "m5.xlarge", api.CapacityTypeOnDemand, 3000)
	s.Nodes[0].NodeClaim.Status.LastPodEventTime = metav1.NewTime(now.Add(-30 * time.Second))
	p := solve(s)
	for _, move := range slices.Concat(p.Moves, p.Waiting) {
		for _, place := range move.Places {
			t.Errorf("%s moves to %s", place.Pod, place.NodeName)
		}
	}
}
