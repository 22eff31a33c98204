package planner_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// machine is an instance type with one on-demand offering.
func machine(name, cpu, memory string, price float64) catalog.InstanceType {
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
		corev1.ResourcePods: resource.MustParse("110"),
	}
	return catalog.InstanceType{
		Name: name, Capacity: room, Allocatable: room, OnDemandPrice: price,
		Requirements: scheduling.FromLabels(map[string]string{
			corev1.LabelInstanceTypeStable: name,
			corev1.LabelTopologyZone:       "us-east-1a",
			api.CapacityTypeLabelKey:       api.CapacityTypeOnDemand,
		}),
		Offerings: []catalog.Offering{{
			CapacityType: api.CapacityTypeOnDemand, Zone: "us-east-1a", Price: price, Available: true,
		}},
	}
}

// waiting is a pod that the scheduler found no node for.
func waiting(name, cpu, memory string) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	pod.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
		},
	}}}
	return pod
}

// Four pods of 1.5 CPU fit one large node, or two that are cheaper together. No node holds the fifth.
func ExampleSolve() {
	snapshot := &plan.Snapshot{
		NodePools: []api.NodePool{{ObjectMeta: metav1.ObjectMeta{Name: "default"}}},
		InstanceTypes: map[string][]catalog.InstanceType{"default": {
			machine("small", "3", "8Gi", 0.10), machine("large", "8", "32Gi", 0.30),
		}},
		Pods: []corev1.Pod{
			waiting("web-0", "1500m", "2Gi"), waiting("web-1", "1500m", "2Gi"),
			waiting("web-2", "1500m", "2Gi"), waiting("web-3", "1500m", "2Gi"),
			waiting("train", "16", "8Gi"),
		},
	}

	planned := planner.Solve(snapshot)

	for _, claim := range planned.NodeClaims {
		fmt.Println(claim.InstanceTypes[0], "for", claim.Pods)
	}
	for _, unplaced := range planned.Unplaced {
		fmt.Println(unplaced.Pod, "has no place:", unplaced.Reasons[0])
	}
	fmt.Printf("$%.2f/h, and no plan costs less than $%.2f/h\n", planned.PricePerHour, planned.LowerBoundPerHour)
	// Output:
	// small for [shop/web-0 shop/web-1]
	// small for [shop/web-2 shop/web-3]
	// shop/train has no place: nodepool "default": requires cpu 16, the largest of its 2 instance types offers 8 (large): lower the request or allow larger types in spec.template.spec.requirements
	// $0.20/h, and no plan costs less than $0.20/h
}
