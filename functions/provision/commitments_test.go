package provision

import (
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
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
