package planner_test

import (
	"fmt"
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

func benchmarkSolve(b *testing.B, s *plan.Snapshot) {
	b.ReportAllocs()
	var solved *plan.Plan
	b.ResetTimer()
	before := processorTime()
	for range b.N {
		solved = planner.Solve(s)
	}
	b.StopTimer()
	b.ReportMetric(float64(processorTime()-before)/float64(b.N), "cpu-ns/op")
	if len(solved.Unplaced) > 0 {
		b.Fatalf("%d pods have no place: %v", len(solved.Unplaced), solved.Unplaced[0])
	}
	b.ReportMetric(solved.PricePerHour, "$/h")
	b.ReportMetric(solved.LowerBoundPerHour, "bound$/h")
	b.ReportMetric(solved.PricePerHour/solved.LowerBoundPerHour, "price/bound")
	b.ReportMetric(float64(len(solved.NodeClaims)), "nodes")
}

// everyNth picks a number of types at equal distances in the list.
func everyNth(types []catalog.InstanceType, count int) []catalog.InstanceType {
	var result []catalog.InstanceType
	for i := range count {
		result = append(result, types[i*len(types)/count])
	}
	return result
}
