package plantest

import (
	"slices"
	"testing"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/planner"
)

// TestNotesTellOfWeight adds a heavier copy of a planned node's pool. Notes must mention the
// weight.
func TestNotesTellOfWeight(t *testing.T) {
	noted := 0
	for seed := uint64(0); seed < 500 && noted < 5; seed++ {
		s := quiet(Random(seed))
		p := planner.Solve(s)
		if len(p.NodeClaims) == 0 || len(Check(s, p)) > 0 {
			continue
		}
		heavy := *poolNamed(s, &p.NodeClaims[0]).DeepCopy()
		heavy.Name, heavy.Spec.Weight, heavy.Spec.Limits = "heavy", pointer(int32(100)), nil
		s.InstanceTypes["heavy"] = s.InstanceTypes[poolNamed(s, &p.NodeClaims[0]).Name]
		s.NodePools = append(s.NodePools, heavy)
		notes := Notes(s, p)
		if !slices.ContainsFunc(notes, func(note string) bool { return Class(note) == "weight" }) {
			// A pod that requires the lighter pool by name must stay there.
			if !hasText(s.Pods, api.NodePoolLabelKey) && !hasText(s.NodePools, "minValues") {
				t.Errorf("cluster %d: no note of weight among %q", seed, notes)
			}
			continue
		}
		noted++
	}
	if noted == 0 {
		t.Error("no cluster to note anything of")
	}
}
