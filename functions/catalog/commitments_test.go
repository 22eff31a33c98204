package catalog

import (
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/commitment"
	"github.com/whittle-dev/whittle/shared/commitment/file"
	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/shared/inventory"
)

// TestCommitmentsOfTheDeploymentsFile takes them in place of the account's, without asking for these.
func TestCommitmentsOfTheDeploymentsFile(t *testing.T) {
	r := newRegion(t)
	text, err := file.Pack(&file.Commitments{
		Region: "us-east-1",
		Reserved: []commitment.ReservedInstance{{
			ID: "r-1", InstanceType: "m5.large", Count: 2, Start: noon.AddDate(-1, 0, 0), End: noon.AddDate(1, 0, 0),
		}},
		Plans: []commitment.SavingsPlan{{
			ID: "sp-1", PerHour: 1, Start: noon.AddDate(-1, 0, 0), End: noon.AddDate(1, 0, 0),
			Rates: map[string]float64{"m5.large": 0.05},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("COMMITMENTS", "true")
	t.Setenv("COMMITMENT_FILE", text)
	if r.Handler, err = New(t.Context(), function.Deps{}); err != nil {
		t.Fatal(err)
	}
	r.connection, r.now = rights{}, func() time.Time { return noon }
	if _, err := r.Handle(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	client, err := controlPlane.ClientOf("whittle:catalog")
	if err != nil {
		t.Fatal(err)
	}
	facts, err := inventory.CommitmentFacts(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	if len(facts.Reserved) != 1 || len(facts.Plans) != 1 || facts.OnDemand["m5.large"] <= 0 ||
		facts.Plans[0].Rates["m5.xlarge"] != 0.1 {
		t.Errorf("stored are %d purchases and plans %+v", len(facts.Reserved), facts.Plans)
	}
	if r.calls["DescribeReservedInstances"] > 0 {
		t.Error("it asks for the account's")
	}
	t.Setenv("COMMITMENT_FILE", "no file")
	if _, err := New(t.Context(), function.Deps{}); err == nil {
		t.Error("a broken file is accepted")
	}
}
