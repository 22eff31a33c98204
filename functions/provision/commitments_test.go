package provision

import (
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/commitment"
	"github.com/whittle-dev/whittle/shared/inventory"
)

// TestACommitmentIsUsedOnce lets a commitment pay for one node. The first pod gets that, on demand. The second
// pod's node is as cheap as without commitments, although the first has not been counted yet. Without the setting
// nobody asks for commitments.
func TestACommitmentIsUsedOnce(t *testing.T) {
	for name, enabled := range map[string]bool{"counted": true, "not counted": false} {
		t.Run(name, func(t *testing.T) {
			e := newEnvironment(t)
			units := map[string]int{}
			for _, info := range offer().InstanceTypes {
				units[info.InstanceType] = 3
			}
			e.try(inventory.PutCommitments(t.Context(), e.client, &commitment.Reading{
				Time: time.Now(), Share: 1, Applied: commitment.Applied{Stocks: []commitment.Stock{{
					ID: "plan-1", Kind: commitment.KindSavingsPlan, Units: units, Total: 5,
				}}},
			}))
			h := e.handler(alive())
			h.settings.Commitments = enabled
			paid := map[string]int{}
			for _, pod := range []string{"one", "two"} {
				e.pod(pod, "3", nil)
				if _, err := h.handle(t.Context(), tick(pod)); err != nil {
					t.Fatal(err)
				}
			}
			for _, claim := range e.claims() {
				id, taken, has := api.CommitmentOf(&claim)
				if has && (id != "plan-1" || taken != 3) {
					t.Errorf("%s takes %d of %q", claim.Name, taken, id)
				}
				if has && claim.Labels[api.CapacityTypeLabelKey] != api.CapacityTypeOnDemand {
					t.Errorf("%s is %s", claim.Name, claim.Labels[api.CapacityTypeLabelKey])
				}
				if has {
					paid[id]++
				}
			}
			if claims := e.claims(); len(claims) != 2 || (paid["plan-1"] == 1) != enabled {
				t.Errorf("%d claims, paid for are %v", len(claims), paid)
			}
		})
	}
}

// TestEachFunctionMayDoItsPartWithCommitments uses the rights of the functions that read and write them.
func TestEachFunctionMayDoItsPartWithCommitments(t *testing.T) {
	e := newEnvironment(t)
	as := func(function string) *cluster.Client {
		client, err := controlPlane.ClientOf("whittle:" + function)
		e.try(err)
		return client
	}
	for range 2 { // the second write finds an object
		e.try(inventory.PutCommitmentFacts(t.Context(), as("catalog"), commitment.Facts{Time: time.Now()}))
		e.try(inventory.PutCommitments(t.Context(), as("lifecycle"), &commitment.Reading{Time: time.Now()}))
	}
	for _, function := range []string{"catalog", "lifecycle"} {
		facts, err := inventory.CommitmentFacts(t.Context(), as(function))
		e.try(err)
		if facts.Time.IsZero() {
			t.Errorf("%s reads no commitments", function)
		}
	}
	for _, function := range []string{"provision", "disrupt"} {
		reading, err := inventory.Commitments(t.Context(), as(function))
		e.try(err)
		if reading == nil {
			t.Errorf("%s reads nothing of what is used", function)
		}
	}
}
