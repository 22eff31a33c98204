package eligibility_test

import (
	"slices"
	"testing"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/consolidation/consolidationtest"
	"github.com/whittle-dev/whittle/shared/consolidation/eligibility"
	"github.com/whittle-dev/whittle/shared/consolidation/state"
	"github.com/whittle-dev/whittle/shared/plan"
)

// fragmented is a fleet of eight nodes of which eligibility keeps none.
func fragmented(t *testing.T) *plan.Snapshot {
	t.Helper()
	types := catalog.Resolve(
		catalogtest.Catalog(t), catalogtest.NodeClass("default"), catalog.Observed{}, catalogtest.Now,
	)
	return consolidationtest.Fleets()[0].Make(8, types)
}

// refusals are the nodes' reasons by name.
func refusals(s *plan.Snapshot) map[string]state.Refusal {
	f := state.New(s, consolidationtest.Now)
	eligibility.Decide(f, s, nil)
	found := map[string]state.Refusal{}
	for _, n := range f.Nodes {
		if !n.Candidate {
			found[n.Name] = n.Ineligible
		}
	}
	return found
}

func TestEachNodeIsDecidedAlone(t *testing.T) {
	s := fragmented(t)
	if found := refusals(s); len(found) != 0 {
		t.Fatalf("nodes of a settled fleet stay: %v", found)
	}
	s.Nodes[2].Node.Annotations = map[string]string{api.DoNotDisruptAnnotationKey: "true"}
	s.Nodes[5].NodeClaim = nil
	found := refusals(s)
	if found[s.Nodes[2].Node.Name].Because != state.Protected {
		t.Errorf("the protected node: %v", found)
	}
	// A node that no claim stands for is no candidate, and there is nothing to say about it.
	if refusal, refused := found[s.Nodes[5].Node.Name]; !refused || !refusal.IsZero() {
		t.Errorf("the node without a claim: %v", found)
	}
	if len(found) != 2 {
		t.Errorf("other nodes stay too: %v", found)
	}
	slices.Reverse(s.Nodes)
	if again := refusals(s); len(again) != 2 {
		t.Errorf("in another order other nodes stay: %v", again)
	}
}
