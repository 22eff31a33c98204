package consolidation_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/consolidation/consolidationtest"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Two nodes of 4 CPU run pods of 1 CPU and 2 CPU for a day. One of the nodes has room for both.
func ExampleSolve() {
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"),
		corev1.ResourcePods: resource.MustParse("110"),
	}
	onDemand := catalog.Offering{
		CapacityType: api.CapacityTypeOnDemand, Zone: "us-east-1a", Price: 0.20, Available: true,
	}
	machine := catalog.InstanceType{
		Name: "medium", Capacity: room, Allocatable: room, OnDemandPrice: onDemand.Price,
		Requirements: scheduling.FromLabels(map[string]string{
			corev1.LabelInstanceTypeStable: "medium",
			corev1.LabelTopologyZone:       onDemand.Zone,
			api.CapacityTypeLabelKey:       onDemand.CapacityType,
		}),
		Offerings: []catalog.Offering{onDemand},
	}
	snapshot := &consolidation.Input{
		Cluster: &plan.Snapshot{
			NodePools:     []api.NodePool{consolidationtest.Pool("default", api.CapacityTypeOnDemand)},
			InstanceTypes: map[string][]catalog.InstanceType{"default": {machine}},
		},
		Now: consolidationtest.Now,
	}
	for name, cpu := range map[string]int64{"node-a": 1000, "node-b": 2000} {
		node := consolidationtest.Node(name, "default", &machine, &onDemand, snapshot.Now.Add(-24*time.Hour))
		pod := consolidationtest.Pod("web-on-"+name, cpu, 1<<30, "web")
		pod.Spec.NodeName = name
		node.Pods = []corev1.Pod{pod}
		snapshot.Cluster.Nodes = append(snapshot.Cluster.Nodes, node)
	}

	planned := consolidation.Solve(snapshot)

	for _, move := range planned.Moves {
		fmt.Printf("%s: delete %s, %s goes to %s\n",
			move.Reason, move.Delete[0].Node, move.Places[0].Pod, move.Places[0].NodeName)
	}
	for _, stay := range planned.Stays {
		fmt.Printf("%s stays: %s\n", stay.Node, stay.Because)
	}
	fmt.Printf("$%.2f/h becomes $%.2f/h\n", planned.PricePerHour, planned.AfterPerHour)
	// Output:
	// Underutilized: delete node-a, default/web-on-node-a goes to node-b
	// node-b stays: Needed
	// $0.40/h becomes $0.20/h
}
