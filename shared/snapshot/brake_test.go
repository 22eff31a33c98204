package snapshot_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/planning"
	"github.com/whittle-dev/whittle/shared/registration"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// TestAPoolWhoseNodesDoNotJoinGetsOneAtATime has four nodes that serve, and eight pods that wait.
// The last two nodes of the pool have not joined.
func TestAPoolWhoseNodesDoNotJoinGetsOneAtATime(t *testing.T) {
	now := catalogtest.Now
	for _, test := range []struct {
		minutes int // since the last one was given up
		flying  bool
		leaving bool
		made    int
		reason  string
	}{
		{minutes: 1, reason: "its last 2 nodes have not joined"},
		{minutes: 11, made: 1, reason: "nodes"},
		{minutes: 11, leaving: true, made: 1, reason: "nodes"},
		{minutes: 11, flying: true, reason: `it waits for the node of nodeclaim "flying"`},
	} {
		o := atLimit("100")
		pool := &o.NodePools[0]
		launches := registration.Launches{Since: now.Add(-time.Hour)}
		for i := range 2 {
			launches.Add(registration.Outcome{
				Claim: fmt.Sprint("lost-", i), Result: registration.Failed, At: now.Add(-time.Duration(test.minutes+i) * time.Minute)})
		}
		pool.Status.Conditions = append(pool.Status.Conditions, metav1.Condition{
			Type: api.ConditionTypeNodeRegistrationHealthy, Status: metav1.ConditionFalse, Message: launches.String()})
		for i := range 8 {
			pod := o.Pods[0].DeepCopy()
			pod.Name, pod.UID, pod.Spec.NodeName = fmt.Sprint("waits-", i), "", ""
			pod.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}}
			o.Pods = append(o.Pods, *pod)
		}
		if test.flying {
			flying, _ := full("flying", pool)
			flying.Status = api.NodeClaimStatus{}
			o.NodeClaims = append(o.NodeClaims, flying)
		}
		if test.leaving {
			o.NodeClaims[0].DeletionTimestamp = &metav1.Time{Time: now}
		}
		offer := snapshot.NewOffer(o, catalogtest.Catalog(t), catalog.Observed{}, now)
		assembled := offer.Assemble(o, now)
		if paused := test.made == 0; paused != (len(assembled.PausedPools) == 1) ||
			paused == (len(assembled.NodePools) == 1) ||
			len(assembled.InstanceTypes[pool.Name]) == 0 {
			t.Errorf("%+v: %d pools, %d paused ones, %d types", test, len(assembled.NodePools), len(assembled.PausedPools),
				len(assembled.InstanceTypes[pool.Name]))
		}
		decided := planning.Solve(assembled)
		if len(decided.NodeClaims) != test.made {
			t.Errorf("%+v: %d new nodes", test, len(decided.NodeClaims))
		}
		if len(decided.Unplaced) == 0 || !strings.Contains(fmt.Sprint(decided.Unplaced[0].Reasons), test.reason) {
			t.Errorf("%+v: unplaced %+v", test, decided.Unplaced)
		}
	}
}
