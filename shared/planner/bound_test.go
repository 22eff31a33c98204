package planner_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"
	"github.com/whittle-dev/whittle/shared/planner/plantest"
	"github.com/whittle-dev/whittle/shared/planner/resource"
	"github.com/whittle-dev/whittle/shared/planner/stagetest"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// smallType returns an instance type with vCPUs, GiB of memory and one on-demand offering, at a
// price in US dollars an hour.
func smallType(name string, cpu, memory int64, price float64, arch string) catalog.InstanceType {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.QuantityOf(corev1.ResourceCPU, cpu*1000),
		corev1.ResourceMemory: *resource.QuantityOf(corev1.ResourceMemory, memory<<30),
		corev1.ResourcePods:   *resource.QuantityOf(corev1.ResourcePods, 10),
	}
	return catalog.InstanceType{
		Name: name, Capacity: capacity, Allocatable: capacity,
		Requirements: scheduling.NewRequirements(
			scheduling.In(corev1.LabelInstanceTypeStable, name), scheduling.In(corev1.LabelArchStable, arch),
			scheduling.In(corev1.LabelTopologyZone, "a"), scheduling.In(api.CapacityTypeLabelKey, api.CapacityTypeOnDemand),
		),
		Offerings: []catalog.Offering{{CapacityType: api.CapacityTypeOnDemand, Zone: "a", Price: price, Available: true}},
	}
}

// TestBoundAgainstBruteForce compares lower bound and price with the cheapest fleet, for few pods
// and types.
func TestBoundAgainstBruteForce(t *testing.T) {
	worst := 1.0
	for seed := range plantest.Seeds(150) {
		random := rand.New(rand.NewPCG(seed, 2))
		arches := []string{api.ArchitectureAmd64, api.ArchitectureArm64}
		var types []catalog.InstanceType
		for i := range 2 + random.IntN(3) {
			cpu, memory := int64(1+random.IntN(8)), int64(1+random.IntN(16))
			price := (float64(cpu)*0.04 + float64(memory)*0.005) * (0.7 + 0.6*random.Float64())
			types = append(types, smallType(fmt.Sprintf("t%d", i), cpu, memory, price, arches[random.IntN(2)]))
		}
		s := &plan.Snapshot{
			NodePools:     []api.NodePool{newPool("default")},
			NodeClasses:   []api.EC2NodeClass{{}},
			InstanceTypes: map[string][]catalog.InstanceType{"default": types},
		}
		s.NodeClasses[0].Name = "default"
		for i := range 1 + random.IntN(7) {
			pod := newPod(fmt.Sprint("p", i), fmt.Sprint(1+random.IntN(3)), fmt.Sprintf("%dGi", 1+random.IntN(6)))
			if random.IntN(3) == 0 {
				pod.Spec.NodeSelector = map[string]string{corev1.LabelArchStable: arches[random.IntN(2)]}
			}
			s.Pods = append(s.Pods, pod)
		}
		solved := planner.Solve(s)
		verify(t, s, solved)
		var placed []*corev1.Pod
		for i := range s.Pods {
			for _, claim := range solved.NodeClaims {
				for _, ref := range claim.Pods {
					if ref == plan.RefOf(&s.Pods[i]) {
						placed = append(placed, &s.Pods[i])
					}
				}
			}
		}
		best := cheapestFleet(types, placed)
		if solved.LowerBoundPerHour > best*(1+1e-9) {
			t.Errorf("seed %d: bound %.6f is above the best fleet's %.6f", seed, solved.LowerBoundPerHour, best)
		}
		if len(placed) > 0 {
			worst = max(worst, solved.PricePerHour/best)
		}
	}
	// A greedy packing of so few pods can be far off. The improvement must reach this much.
	if worst > 1.15 {
		t.Errorf("the worst plan costs %.3f times the best fleet", worst)
	}
	t.Logf("the worst plan costs %.3f times the best fleet", worst)
}

// cheapestFleet returns the price of the cheapest fleet. It tries all ways to divide the pods among
// nodes, each of the cheapest type that holds them.
func cheapestFleet(types []catalog.InstanceType, pods []*corev1.Pod) float64 {
	price := make([]float64, 1<<len(pods))
	for set := 1; set < len(price); set++ {
		price[set] = math.Inf(1)
		for i := range types {
			if holdsAll(&types[i], pods, set) {
				price[set] = min(price[set], types[i].Offerings[0].Price)
			}
		}
	}
	for set := 1; set < len(price); set++ {
		for part := (set - 1) & set; part > 0; part = (part - 1) & set {
			price[set] = min(price[set], price[part]+price[set^part])
		}
	}
	return price[len(price)-1]
}

func holdsAll(typ *catalog.InstanceType, pods []*corev1.Pod, set int) bool {
	sum := corev1.ResourceList{}
	for i, pod := range pods {
		if set&(1<<i) == 0 {
			continue
		}
		if arch, ok := pod.Spec.NodeSelector[corev1.LabelArchStable]; ok &&
			!typ.Requirements[corev1.LabelArchStable].Has(arch) {
			return false
		}
		resource.AddLists(sum, scheduling.PodRequests(pod))
	}
	for name, quantity := range sum {
		if have := typ.Allocatable[name]; quantity.Cmp(have) > 0 {
			return false
		}
	}
	return true
}

// TestPodsThatFillANode plans for three pods of which each takes all memory of the cheapest node.
// Their average need, which is a rounded sum, must not seem greater than the node.
func TestPodsThatFillANode(t *testing.T) {
	for count := 1; count <= 30; count++ {
		types := []catalog.InstanceType{
			stagetest.Type("small", 2, 8, 0.05, "us-east-1a"), stagetest.Type("large", 4, 32, 0.16, "us-east-1a"),
		}
		decided := planner.Solve(stagetest.Snapshot(types, stagetest.Pods(count, "full", "2", "8Gi")...))
		least := 0.05 * float64(count)
		if math.Abs(decided.PricePerHour-least) > 1e-9 || decided.LowerBoundPerHour > least {
			t.Errorf("%d pods cost $%.3f/h with a bound of $%.3f/h, want $%.3f/h", count, decided.PricePerHour,
				decided.LowerBoundPerHour, least)
		}
	}
}
