package planner_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"
	"github.com/whittle-dev/whittle/shared/planner/resource"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
)

// benchmarkTypes is the number of instance types in an average region.
const benchmarkTypes = 700

// BenchmarkSolve plans workloads in a cluster without nodes, with 700 real instance types in three
// zones.
func BenchmarkSolve(b *testing.B) {
	for _, workload := range workloads {
		for _, count := range []int{500, 2000, 5000, 20000} {
			for _, capacityType := range []string{api.CapacityTypeOnDemand, api.CapacityTypeSpot} {
				b.Run(fmt.Sprintf("%s/%d/%s", workload.name, count, capacityType), func(b *testing.B) {
					s := realSnapshot(b, newPool("default", require(api.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, capacityType)))
					s.InstanceTypes["default"] = everyNth(s.InstanceTypes["default"], benchmarkTypes)
					s.Pods = workload.pods(count)
					benchmarkSolve(b, s)
				})
			}
		}
	}
}

// BenchmarkSolveLimited plans 5,000 pods of 50 sizes in a pool whose limit allows them.
func BenchmarkSolveLimited(b *testing.B) {
	benchmarkSolve(b, limitedSnapshot(b))
}

func limitedSnapshot(t testing.TB) *plan.Snapshot {
	s := realSnapshot(t, newPool("default", func(p *api.NodePool) {
		p.Spec.Limits = api.Limits{corev1.ResourceCPU: *resource.QuantityOf(corev1.ResourceCPU, 20_000_000)}
	}))
	s.InstanceTypes["default"] = everyNth(s.InstanceTypes["default"], benchmarkTypes)
	s.Pods = manyPods(5000, 50, 1)
	return s
}

// BenchmarkSolveAged plans 6,000 pods of different sizes and ages with all instance types. The first
// limit allows all of them. The others leave out most, so that the order of the pods counts.
func BenchmarkSolveAged(b *testing.B) {
	for _, cores := range []string{"1000000", "200", "1000", "3000"} {
		b.Run(cores, func(b *testing.B) {
			s := realSnapshot(b, newPool("default", limitCPU(cores)))
			s.Pods = agedPods(6000)
			measureSolve(b, s)
		})
	}
}

// BenchmarkSolvePools plans pods in three NodePools of different weights. Limits bound the two
// heavier ones. The last pool takes what they leave.
func BenchmarkSolvePools(b *testing.B) {
	for _, count := range []int{500, 5000, 20000} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			weighing := func(weight int32) func(*api.NodePool) {
				return func(p *api.NodePool) { p.Spec.Weight = &weight }
			}
			s := realSnapshot(b,
				newPool("reserved", weighing(20), limitCPU("100"),
					require(api.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, api.CapacityTypeOnDemand)),
				newPool("spot", weighing(10), limitCPU("400"),
					require(api.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, api.CapacityTypeSpot)),
				newPool("rest"),
			)
			for name, types := range s.InstanceTypes {
				s.InstanceTypes[name] = everyNth(types, benchmarkTypes)
			}
			s.Pods = agedPods(count)
			benchmarkSolve(b, s)
		})
	}
}

// BenchmarkSolveShortage plans pods while nine of ten offerings are unavailable.
func BenchmarkSolveShortage(b *testing.B) {
	for _, count := range []int{500, 5000, 20000} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			s := realSnapshot(b, newPool("default"))
			types, offering := everyNth(s.InstanceTypes["default"], benchmarkTypes), 0
			for i := range types {
				types[i].Offerings = slices.Clone(types[i].Offerings)
				for j := range types[i].Offerings {
					offering++
					types[i].Offerings[j].Available = types[i].Offerings[j].Available && offering%10 == 0
				}
			}
			s.InstanceTypes["default"] = types
			s.Pods = agedPods(count)
			benchmarkSolve(b, s)
		})
	}
}

func benchmarkSolve(b *testing.B, s *plan.Snapshot) {
	solved := measureSolve(b, s)
	if len(solved.Unplaced) > 0 {
		b.Fatalf("%d pods have no place: %v", len(solved.Unplaced), solved.Unplaced[0])
	}
}

// measureSolve reports processor time, price and size of the plan. It returns the plan.
func measureSolve(b *testing.B, s *plan.Snapshot) *plan.Plan {
	b.ReportAllocs()
	var solved *plan.Plan
	b.ResetTimer()
	before := processorTime()
	for range b.N {
		solved = planner.Solve(s)
	}
	b.StopTimer()
	b.ReportMetric(float64(processorTime()-before)/float64(b.N), "cpu-ns/op")
	b.ReportMetric(solved.PricePerHour, "$/h")
	b.ReportMetric(solved.LowerBoundPerHour, "bound$/h")
	b.ReportMetric(solved.PricePerHour/solved.LowerBoundPerHour, "price/bound")
	b.ReportMetric(float64(len(solved.NodeClaims)), "nodes")
	b.ReportMetric(float64(len(solved.Unplaced)), "left-out")
	return solved
}

// everyNth picks a number of types at equal distances in the list.
func everyNth(types []catalog.InstanceType, count int) []catalog.InstanceType {
	var result []catalog.InstanceType
	for i := range count {
		result = append(result, types[i*len(types)/count])
	}
	return result
}
