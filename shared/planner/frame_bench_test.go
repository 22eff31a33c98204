package planner

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/claims"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// BenchmarkFrame measures what Solve spends around packing: the reading of the snapshot, the division into demands, and the writing of claims. On a machine with other
// work its processor time says more than the time on the clock.
func BenchmarkFrame(b *testing.B) {
	for _, workload := range workloads {
		for _, count := range []int{500, 2000} {
			s := realSnapshot(b, newPool("default", require(api.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, api.CapacityTypeOnDemand)))
			s.InstanceTypes["default"] = everySo(s.InstanceTypes["default"], benchmarkTypes)
			s.Pods = workload.pods(count)
			b.Run(fmt.Sprintf("read/%s/%d", workload.name, count), func(b *testing.B) {
				measured(b, func() { newProblem(s) })
			})
			b.Run(fmt.Sprintf("divide/%s/%d", workload.name, count), func(b *testing.B) {
				problems := make([]*problem, b.N)
				for i := range problems {
					problems[i] = newProblem(s)
				}
				measured(b, func() {
					p := problems[0]
					problems = problems[1:]
					p.topology.Divide(p.work.Groups)
					p.state.FinishDemands()
				})
			})
			b.Run(fmt.Sprintf("claims/%s/%d", workload.name, count), func(b *testing.B) {
				p := newProblem(s)
				for shapes := p.work.Groups; len(shapes) > 0; p.state.Round++ {
					shapes = p.placeShapes(shapes)
				}
				units := make([][][]*corev1.Pod, len(p.state.Demands))
				for i, d := range p.state.Demands {
					units[i] = d.Units
				}
				measured(b, func() {
					p.plan = &plan.Plan{}
					for i, d := range p.state.Demands {
						d.Units = units[i]
					}
					claims.Write(p.state, p.state.Planned)
					p.sortPlan()
				})
			})
		}
	}
}

func measured(b *testing.B, f func()) {
	b.ReportAllocs()
	b.ResetTimer()
	before := processorTime()
	for range b.N {
		f()
	}
	b.ReportMetric(float64(processorTime()-before)/float64(b.N), "cpu-ns/op")
}

// processorTime is what the process has used, in nanoseconds.
func processorTime() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}
