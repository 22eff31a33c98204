package planner_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"
	"github.com/whittle-dev/whittle/shared/planner/plantest"
)

// TestPlansIgnoreTheTaintOfCandidates gives every node the soft taint that steers pods. The plan stays the same.
func TestPlansIgnoreTheTaintOfCandidates(t *testing.T) {
	solved := func(s *plan.Snapshot) string {
		text, err := json.Marshal(planner.Solve(s))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	nodes := 0
	for seed := range uint64(100) {
		s := plantest.Random(seed)
		before := solved(s)
		for i := range s.Nodes {
			if node := s.Nodes[i].Node; node != nil {
				node.Spec.Taints = append(slices.Clone(node.Spec.Taints), api.CandidateTaint())
				nodes++
			}
		}
		if after := solved(s); after != before {
			t.Errorf("seed %d: with the taint\n%s\nwithout it\n%s", seed, after, before)
		}
	}
	if nodes < 50 {
		t.Errorf("only %d nodes had the taint", nodes)
	}
}
