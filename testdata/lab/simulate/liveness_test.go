package simulate

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/apiserver"
)

// TestOnlyNodesAreRepaired has a machine whose hardware failed long ago, before it joined or after that.
func TestOnlyNodesAreRepaired(t *testing.T) {
	for _, joined := range []bool{true, false} {
		r := &Run{store: apiserver.NewStore(time.Now), machines: map[string]*machine{}, weather: &weather{}}
		instance := ec2.Instance{ID: "i-0123456789abcdef0", Zone: "us-east-1a"}
		if _, err := r.store.Create(apiserver.NodeClaims, &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "a"}}); err != nil {
			t.Fatal(err)
		}
		apiserver.Update(r.store, apiserver.NodeClaims, "", "a", func(claim *api.NodeClaim) bool {
			claim.Status.ProviderID = instance.ProviderID()
			return true
		})
		r.machines[instance.ID] = &machine{
			instance: instance, failed: true, failedAt: time.Now().Add(-time.Hour), joined: joined, off: true,
		}
		if late := len(r.unrepaired()) > 0; late != joined {
			t.Errorf("a machine that has joined %t is late %t", joined, late)
		}
	}
}
