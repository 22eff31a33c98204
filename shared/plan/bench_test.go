package plan

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
)

// benchmarkTypes is how many instance types a region of middling size offers.
const benchmarkTypes = 700

// BenchmarkSolve plans 5,000 pods of 50 sizes from nothing, over 700 real instance types.
func BenchmarkSolve(b *testing.B) {
	for _, bench := range []struct {
		name string
		pool api.NodePool
	}{
		{"spot and on-demand", newPool("default")},
		{"on-demand amd64", newPool("default", require(api.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, api.CapacityTypeOnDemand),
			require(corev1.LabelArchStable, corev1.NodeSelectorOpIn, api.ArchitectureAmd64))},
		{"with limits", newPool("default", func(p *api.NodePool) {
			p.Spec.Limits = api.Limits{corev1.ResourceCPU: *quantityOf(corev1.ResourceCPU, 20_000_000)}
		})},
	} {
		b.Run(bench.name, func(b *testing.B) {
			s := realSnapshot(b, bench.pool)
			s.InstanceTypes["default"] = everySo(s.InstanceTypes["default"], benchmarkTypes)
			s.Pods = manyPods(5000, 50, 1)
			var plan *Plan
			b.ResetTimer()
			for range b.N {
				plan = Solve(s)
			}
			b.StopTimer()
			if len(plan.Unplaced) > 0 {
				b.Fatalf("%d pods have no place: %v", len(plan.Unplaced), plan.Unplaced[0])
			}
			b.ReportMetric(plan.PricePerHour, "$/h")
			b.ReportMetric(plan.LowerBoundPerHour, "bound$/h")
			b.ReportMetric(float64(len(plan.NodeClaims)), "nodes")
		})
	}
}

// everySo thins the types out to a number of them, evenly over the families.
func everySo(types []catalog.InstanceType, count int) []catalog.InstanceType {
	var result []catalog.InstanceType
	for i := range count {
		result = append(result, types[i*len(types)/count])
	}
	return result
}
