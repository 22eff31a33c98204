package simulate

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/apiserver"
)

// TestAPoolThatWaitsForItsNextNodeIsRemembered has a pool whose last nodes have not joined, in the time that
// prices are compared in and before it.
func TestAPoolThatWaitsForItsNextNodeIsRemembered(t *testing.T) {
	for _, test := range []struct {
		left  time.Duration
		wants bool
	}{{lowestOf - time.Minute, true}, {lowestOf + time.Minute, false}} {
		r := staticRun(t, time.Now())
		r.instances = []ec2.Instance{}
		r.ends = time.Now().Add(test.left)
		r.notePrice()
		if r.paused != test.wants {
			t.Errorf("with %s left: %t", test.left, r.paused)
		}
	}
}

// TestTheStaticPoolHasNoPartInPrices has nodes of two pools.
func TestTheStaticPoolHasNoPartInPrices(t *testing.T) {
	r := &Run{store: apiserver.NewStore(time.Now)}
	for _, pool := range []string{staticPool, "default"} {
		instance := ec2.Instance{ID: "i-" + pool, Zone: "us-east-1a", State: ec2.Running, PricePerHour: 1}
		r.instances = append(r.instances, instance)
		claim := &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{
			Name: pool, Labels: map[string]string{api.NodePoolLabelKey: pool},
		}}
		if _, err := r.store.Create(apiserver.NodeClaims, claim); err != nil {
			t.Fatal(err)
		}
		apiserver.Update(r.store, apiserver.NodeClaims, "", pool, func(claim *api.NodeClaim) bool {
			claim.Status.ProviderID = instance.ProviderID()
			return true
		})
	}
	if price := r.price(); price != 1 {
		t.Errorf("the price is %f", price)
	}
}
