package planner_test

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/whittle-dev/whittle/shared/planner/claims"
	"github.com/whittle-dev/whittle/shared/planner/packing"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// BenchmarkFrame measures the stages around packing: reading the snapshot, dividing pod groups into
// demands, and writing claims. On a busy machine its processor time is steadier than its clock
// time.
func BenchmarkFrame(b *testing.B) {
	for _, workload := range workloads {
		for _, count := range []int{500, 2000} {
			s := realSnapshot(
				b,
				newPool("default", require(api.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, api.CapacityTypeOnDemand)),
			)
			s.InstanceTypes["default"] = everyNth(s.InstanceTypes["default"], benchmarkTypes)
			s.Pods = workload.pods(count)
			b.Run(fmt.Sprintf("read/%s/%d", workload.name, count), func(b *testing.B) {
				measured(b, func() { read(s) })
			})
			b.Run(fmt.Sprintf("divide/%s/%d", workload.name, count), func(b *testing.B) {
				divisions := make([]*stages, b.N)
				for i := range divisions {
					divisions[i] = read(s)
				}
				measured(b, func() {
					p := divisions[0]
					divisions = divisions[1:]
					p.domain.Divide(p.work.Groups)
				})
			})
			b.Run(fmt.Sprintf("claims/%s/%d", workload.name, count), func(b *testing.B) {
				p := read(s)
				p.domain.Divide(p.work.Groups)
				p.state.Planned, _ = packing.Pack(p.state, nil)
				units := make([][][]*corev1.Pod, len(p.state.Demands))
				for i, d := range p.state.Demands {
					units[i] = d.Units
				}
				measured(b, func() {
					for i, d := range p.state.Demands {
						d.Units = units[i]
					}
					written, _ := claims.Write(p.state, p.state.Planned)
					claims.Sort(written)
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

// processorTime returns the process's processor time in nanoseconds.
func processorTime() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}
