package planner_test

import (
	"fmt"
	"testing"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/packing"
)

// TestRoundsOfPacking checks that a later round of packing keeps the planned nodes of earlier
// rounds and fills them first.
func TestRoundsOfPacking(t *testing.T) {
	s := &plan.Snapshot{
		NodePools:   []api.NodePool{newPool("default")},
		NodeClasses: []api.EC2NodeClass{{}},
		InstanceTypes: map[string][]catalog.InstanceType{
			"default": {smallType("t1", 4, 16, 0.2, api.ArchitectureAmd64), smallType("t2", 8, 32, 0.4, api.ArchitectureAmd64)},
		},
	}
	s.NodeClasses[0].Name = "default"
	for i := range 5 {
		s.Pods = append(s.Pods, newPod(fmt.Sprint("big", i), "3", "1Gi"), newPod(fmt.Sprint("small", i), "1", "1Gi"))
	}
	p := read(s)
	p.domain.Divide(p.work.Groups)
	big, small := p.state.Demands[0], p.state.Demands[1]
	big.Waiting, small.Waiting = 4, 0
	nodes, _ := packing.Pack(p.state, nil)
	if big.Waiting != 0 || len(nodes) == 0 {
		t.Fatalf("%d wait, %d nodes", big.Waiting, len(nodes))
	}
	before := len(nodes)
	if n := p.state.PlanNodeFor(big); n == nil || big.Waiting != -1 || p.state.Planned[before] != n {
		t.Fatalf("PlanNodeFor gave %v, %d wait", n, big.Waiting)
	}
	if room := p.state.RoomOrGrow(nodes[0], small, 10); room < 1 {
		t.Errorf("room for %d", room)
	}
	small.Waiting = 3
	p.state.PlaceOrGrow(nodes[0], small, 1)
	if small.Waiting != 2 {
		t.Errorf("%d wait after one was put", small.Waiting)
	}
	again, _ := packing.Pack(p.state, p.state.Planned)
	if small.Waiting != 0 || len(again) != before+1 {
		t.Errorf("%d wait, %d nodes after %d", small.Waiting, len(again), before+1)
	}
	for i, n := range again {
		if n.Fills[0].Demand != big.Index || i < before && n != nodes[i] {
			t.Errorf("node %d is %+v", i, n)
		}
	}
}
