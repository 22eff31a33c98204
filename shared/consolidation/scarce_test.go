package consolidation_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/consolidation"
)

// TestNodesMoveOntoWhatIsLeftOfCommitments has two full nodes of 16 cores, and Reserved Instances
// that are left for 14 cores in smaller sizes. They are too few for all pods, so that a price by
// the hour decides for the whole fleet. The pods of one node have room in them all the same.
func TestNodesMoveOntoWhatIsLeftOfCommitments(t *testing.T) {
	covers := []catalog.Cover{{
		Commitment: "m5", Left: 112,
		Units: map[string]int{"m5.large": 16, "m5.xlarge": 32, "m5.2xlarge": 64, "m5.4xlarge": 128},
	}}
	types := catalog.Resolve(catalogtest.Catalog(t), catalogtest.NodeClass("default"), catalog.Observed{Covers: covers},
		catalogtest.Now)
	types = slices.DeleteFunc(types, func(t catalog.InstanceType) bool {
		return !strings.HasPrefix(t.Name, "m5.") && !strings.HasPrefix(t.Name, "m6a.")
	})
	s := cluster(types, api.CapacityTypeOnDemand)
	for _, name := range []string{"one", "two"} {
		addNode(t, s, name, "m6a.4xlarge", api.CapacityTypeOnDemand, 2500, 2500, 2500, 1500, 1500, 1500, 1500, 1200, 700)
	}
	p := consolidation.Solve(&consolidation.Input{Cluster: s, Now: now})
	if len(p.Moves) == 0 {
		t.Fatalf("nothing moves: %+v", p.Stays)
	}
	paid := 0
	for i := range p.Moves {
		for j := range p.Moves[i].Launch {
			if p.Moves[i].Launch[j].Offerings[0].Commitment == "m5" {
				paid++
			}
		}
	}
	if paid == 0 || p.Moves[0].SavedPerHour < 0.4 {
		t.Errorf("the commitment pays for %d nodes: %+v", paid, p.Moves)
	}
}
