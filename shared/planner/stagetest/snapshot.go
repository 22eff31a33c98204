package stagetest

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/resource"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// amounts is a node of so many cores and GiB of memory, with room for 10 pods.
func amounts(cores, gib int64) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.QuantityOf(corev1.ResourceCPU, cores*1000),
		corev1.ResourceMemory: *resource.QuantityOf(corev1.ResourceMemory, gib<<30),
		corev1.ResourcePods:   *resource.QuantityOf(corev1.ResourcePods, 10),
	}
}

// Type returns an instance type for amd64 that is sold on demand in each zone, at a price in US
// dollars an hour. Its nodes have all cores and memory free, and room for 10 pods.
func Type(name string, cores, gib int64, price float64, zones ...string) catalog.InstanceType {
	t := catalog.InstanceType{
		Name: name, Capacity: amounts(cores, gib), Allocatable: amounts(cores, gib),
		Requirements: scheduling.NewRequirements(
			scheduling.In(corev1.LabelInstanceTypeStable, name),
			scheduling.In(corev1.LabelArchStable, api.ArchitectureAmd64),
			scheduling.In(corev1.LabelTopologyZone, zones...),
			scheduling.In(api.CapacityTypeLabelKey, api.CapacityTypeOnDemand, api.CapacityTypeSpot),
		),
	}
	for _, zone := range zones {
		t.Offerings = append(t.Offerings, catalog.Offering{
			CapacityType: api.CapacityTypeOnDemand, Zone: zone, Price: price, Available: true,
		})
	}
	return t
}

// OnSpot adds cheaper spot offerings to the type, in all its zones.
func OnSpot(t catalog.InstanceType, price float64) catalog.InstanceType {
	var offerings []catalog.Offering
	for _, o := range t.Offerings {
		o.CapacityType, o.Price = api.CapacityTypeSpot, price
		offerings = append(offerings, o)
	}
	t.Offerings = append(offerings, t.Offerings...)
	return t
}

// Pool returns a NodePool without requirements, with the changes applied.
func Pool(name string, changes ...func(*api.NodePool)) api.NodePool {
	var pool api.NodePool
	pool.Name, pool.UID = name, types.UID("uid-"+name)
	pool.Spec.Template.Spec.NodeClassRef = &api.NodeClassReference{
		Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: "default",
	}
	for _, change := range changes {
		change(&pool)
	}
	return pool
}

// Snapshot returns waiting pods, and the NodePool "default" that may launch the types.
func Snapshot(instanceTypes []catalog.InstanceType, pods ...corev1.Pod) *plan.Snapshot {
	s := &plan.Snapshot{
		Pods: pods, NodePools: []api.NodePool{Pool("default")}, NodeClasses: []api.EC2NodeClass{{}},
		InstanceTypes: map[string][]catalog.InstanceType{"default": instanceTypes},
	}
	s.NodeClasses[0].Name = "default"
	return s
}

// Node returns an initialised node of so many cores and four times as many GiB, with pods that run.
func Node(name, zone string, cores int64, pods ...corev1.Pod) plan.Node {
	node := &corev1.Node{}
	node.Name = name
	node.Labels = map[string]string{
		corev1.LabelHostname: name, corev1.LabelTopologyZone: zone, corev1.LabelArchStable: api.ArchitectureAmd64,
	}
	node.Status.Allocatable = amounts(cores, 4*cores)
	for i := range pods {
		pods[i].Spec.NodeName = name
	}
	return plan.Node{Node: node, Pods: pods}
}
