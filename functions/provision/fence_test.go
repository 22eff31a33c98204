package provision

import (
	"errors"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/queue"
)

// TestAPassThatOutlivesItsLeaseLaunchesNothing gives a pass a Lease whose time is over, as after a
// pause of its container. Another pass may have planned for the same pods.
func TestAPassThatOutlivesItsLeaseLaunchesNothing(t *testing.T) {
	e := newEnvironment(t)
	e.pod("one", "1", nil)
	now := time.Now()
	lease, err := e.client.AcquireLease(t.Context(), leaseName, "late", now, now)
	if err != nil || lease == nil {
		t.Fatalf("the lease is %v, %v", lease, err)
	}
	wake := queue.Message{Cluster: clusterName, At: now, Reason: queue.ReasonTick}
	if err := e.handler(alive()).underLease(t.Context(), e.client, lease, wake); !errors.Is(err, cluster.ErrLeaseEnded) {
		t.Errorf("error is %v", err)
	}
	if claims, instances := e.claims(), e.instances(); len(claims)+len(instances) > 0 {
		t.Errorf("claims %v, instances %v", claims, instances)
	}
	next, err := e.client.AcquireLease(t.Context(), leaseName, "next", now, now.Add(time.Minute))
	if err != nil || next == nil {
		t.Errorf("after the pass the lease is %v, %v", next, err)
	}
}
