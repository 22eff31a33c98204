package plan

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// BenchmarkFrame measures what Solve spends before and after it packs: the reading of the snapshot, and the writing of claims.
func BenchmarkFrame(b *testing.B) {
	for _, workload := range workloads {
		for _, count := range []int{500, 2000} {
			s := realSnapshot(b, newPool("default", require(api.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, api.CapacityTypeOnDemand)))
			s.InstanceTypes["default"] = everySo(s.InstanceTypes["default"], benchmarkTypes)
			s.Pods = workload.pods(count)
			b.Run(fmt.Sprintf("read/%s/%d", workload.name, count), func(b *testing.B) {
				b.ReportAllocs()
				for range b.N {
					newProblem(s).read()
				}
			})
			b.Run(fmt.Sprintf("divide/%s/%d", workload.name, count), func(b *testing.B) {
				b.ReportAllocs()
				for range b.N {
					b.StopTimer()
					p := newProblem(s)
					p.read()
					b.StartTimer()
					p.divide(p.shapes)
					p.readDemands()
				}
			})
			b.Run(fmt.Sprintf("claims/%s/%d", workload.name, count), func(b *testing.B) {
				p := newProblem(s)
				p.read()
				for shapes := p.shapes; len(shapes) > 0; p.round++ {
					shapes = p.placeShapes(shapes)
				}
				units := make([][][]*corev1.Pod, len(p.demands))
				for i, d := range p.demands {
					units[i] = d.units
				}
				b.ReportAllocs()
				b.ResetTimer()
				for range b.N {
					p.plan = &Plan{}
					for i, d := range p.demands {
						d.units = units[i]
					}
					p.writeClaims(p.planned)
					p.sortPlan()
				}
			})
		}
	}
}
