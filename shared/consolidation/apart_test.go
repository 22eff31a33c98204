package consolidation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/plan"
)

// own makes the pods those of a ReplicaSet, from position from on.
func own(pods []corev1.Pod, from int, name string) {
	for i := range pods[from:] {
		owner := &pods[from+i].OwnerReferences[0]
		owner.Kind, owner.Name, owner.UID = "ReplicaSet", name, types.UID("uid-"+name)
	}
}

// gathering is a fleet whose small node has two of five replicas, and whose only node with room two
// others. So many further nodes are full.
func gathering(t *testing.T, further int, capacityType string) *plan.Snapshot {
	// No smaller type would be cheaper for the pods of the small node.
	types := slices.DeleteFunc(someTypes(t, 8), func(t catalog.InstanceType) bool {
		return t.Name != "m5.large" && t.Name != "m5.4xlarge"
	})
	s := cluster(types, capacityType)
	own(addNode(t, s, "low", "m5.large", capacityType, 300, 300).Pods, 0, "api")
	roomy := addNode(t, s, "roomy", "m5.4xlarge", capacityType, 6000, 7000, 300, 300)
	own(roomy.Pods, 0, "own-roomy")
	own(roomy.Pods, 2, "api")
	for i := range further {
		full := addNode(t, s, fmt.Sprintf("full-%d", i), "m5.4xlarge", capacityType, 15300, 300)
		own(full.Pods, 0, fmt.Sprintf("own-%d", i))
		if i == 0 {
			own(full.Pods, 1, "api")
		}
	}
	return s
}

func TestConsolidationKeepsReplicasApart(t *testing.T) {
	for _, test := range []struct {
		name    string
		further int
		change  func(*plan.Snapshot)
		moves   bool
	}{
		{"what the move saves is less than one per cent", 30, nil, false},
		{"what it saves is more", 2, nil, true},
		{"the setting is zero", 30, func(s *plan.Snapshot) { s.DispersalPercent = new(float64) }, true},
		{"the annotation is zero", 30, func(s *plan.Snapshot) {
			s.NodePools[0].Annotations = map[string]string{api.DispersalPercentAnnotationKey: "0"}
		}, true},
		{"the replicas belong to a Job", 30, func(s *plan.Snapshot) {
			for i := range s.Nodes {
				for j := range s.Nodes[i].Pods {
					s.Nodes[i].Pods[j].OwnerReferences[0].Kind = "RayJob"
				}
			}
			s.NodePools[0].Annotations = map[string]string{api.JobSavingsAnnotationKey: "0"}
		}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := gathering(t, test.further, api.CapacityTypeOnDemand)
			if test.change != nil {
				test.change(s)
			}
			p := solve(s)
			moved := false
			for i := range p.Moves {
				for _, leaving := range p.Moves[i].Delete {
					moved = moved || leaving.Node == "low"
				}
			}
			if moved != test.moves {
				t.Fatalf("moved: %v, want %v", moved, test.moves)
			}
			if !moved {
				const want = "bring more than half of the replicas of ReplicaSet default/api to one node"
				if stay := stayOf(t, p, "low"); stay.Because != consolidation.TooLittle || !strings.Contains(stay.Message, want) {
					t.Errorf("stay %+v, want %q", stay, want)
				}
			}
		})
	}
}

// TestConsolidationKeepsReplicasOutOfASpotPool has the replicas on two nodes of one spot pool and a
// node of another, which consolidation would empty.
func TestConsolidationKeepsReplicasOutOfASpotPool(t *testing.T) {
	s := gathering(t, 30, api.CapacityTypeSpot)
	// Then no node has more than half of five replicas, but the pool of m5.4xlarge all of them.
	own(s.Nodes[1].Pods[3:4], 0, "other")
	own(s.Nodes[2].Pods[1:2], 0, "other")
	own(s.Nodes[3].Pods[1:2], 0, "api")
	own(s.Nodes[1].Pods[2:3], 0, "other")
	own(s.Nodes[4].Pods[1:2], 0, "api")
	p := solve(s)
	const want = "to spot nodes of m5.4xlarge"
	if stay := stayOf(t, p, "low"); !strings.Contains(stay.Message, want) {
		t.Errorf("stay %+v, want %q", stay, want)
	}
}
