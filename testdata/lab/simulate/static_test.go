package simulate

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/registration"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/apiserver"
)

// staticRun is a simulation whose static pool asks for two nodes. Its last two nodes have not joined.
func staticRun(t *testing.T, lastFailed time.Time) *Run {
	t.Helper()
	launches := registration.Launches{Since: lastFailed.Add(-time.Hour), Last: []registration.Outcome{
		{Claim: "static-a", Result: registration.Failed, At: lastFailed},
		{Claim: "static-b", Result: registration.Failed, At: lastFailed},
	}}
	r := &Run{store: apiserver.NewStore(time.Now), scales: []scale{{lastFailed, 2}}}
	pool := &api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: staticPool}}
	if _, err := r.store.Create(apiserver.NodePools, pool); err != nil {
		t.Fatal(err)
	}
	apiserver.Update(r.store, apiserver.NodePools, "", staticPool, func(pool *api.NodePool) bool {
		pool.Status.Conditions = []metav1.Condition{{
			Type: api.ConditionTypeNodeRegistrationHealthy, Status: metav1.ConditionFalse,
			ObservedGeneration: pool.Generation, Message: launches.String(),
		}}
		return true
	})
	return r
}

// with adds nodes to the static pool.
func (r *Run) with(t *testing.T, nodes int) *Run {
	t.Helper()
	for i := range nodes {
		name := fmt.Sprintf("static-%d", i)
		claim := &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{api.NodePoolLabelKey: staticPool},
		}}
		if _, err := r.store.Create(apiserver.NodeClaims, claim); err != nil {
			t.Fatal(err)
		}
		apiserver.Update(r.store, apiserver.NodeClaims, "", name, func(claim *api.NodeClaim) bool {
			claim.Status.NodeName = "node-" + name
			return true
		})
	}
	return r
}

func TestAStaticPoolWhoseNodesDoNotJoinWaits(t *testing.T) {
	if wrong := staticRun(t, time.Now().Add(-5*time.Minute)).with(t, 1).unsettledStatic(); len(wrong) > 0 {
		t.Errorf("a pool that may not get its next node yet breaks the law: %q", wrong)
	}
	if wrong := staticRun(t, time.Now().Add(-30*time.Minute)).with(t, 1).unsettledStatic(); len(wrong) == 0 {
		t.Error("the law says nothing of a pool that may get its next node for long")
	}
	if wrong := staticRun(t, time.Now().Add(-5*time.Minute)).with(t, 3).unsettledStatic(); len(wrong) == 0 {
		t.Error("the law says nothing of a pool that has more nodes than it asks for")
	}
}
