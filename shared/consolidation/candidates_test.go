package consolidation_test

import (
	"slices"
	"testing"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/consolidation"
)

// TestMovesIgnoreTheTaintOfCandidates gives every node the soft taint that steers pods. The moves stay the same.
func TestMovesIgnoreTheTaintOfCandidates(t *testing.T) {
	moves := 0
	for seed := range uint64(40) {
		s, _ := randomCluster(seed)
		first := consolidation.Solve(&consolidation.Input{Cluster: s, Now: now})
		for i := range s.Nodes {
			if node := s.Nodes[i].Node; node != nil {
				node.Spec.Taints = append(slices.Clone(node.Spec.Taints), api.CandidateTaint())
			}
		}
		second := consolidation.Solve(&consolidation.Input{Cluster: s, Now: now})
		if before, after := decisions(t, first), decisions(t, second); before != after {
			t.Errorf("seed %d: with the taint\n%s\nwithout it\n%s", seed, after, before)
		}
		moves += len(first.Moves)
	}
	if moves == 0 {
		t.Error("no fleet has a move")
	}
}
