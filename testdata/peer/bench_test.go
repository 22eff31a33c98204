package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planning"
	"github.com/whittle-dev/whittle/testdata/peer/workload"
)

// BenchmarkWhittle plans the workloads with Whittle alone, each time from a new snapshot.
func BenchmarkWhittle(b *testing.B) {
	types, err := workload.InstanceTypes()
	if err != nil {
		b.Fatal(err)
	}
	for _, w := range workload.All() {
		for _, pods := range []int{featurePods, 500, 2000, 5000, 20000} {
			if w.Features != (pods == featurePods) {
				continue
			}
			for _, capacity := range workload.CapacityTypes() {
				b.Run(fmt.Sprintf("%s/%d/%s", strings.ReplaceAll(w.Name, " ", "-"), pods, capacity[0]), func(b *testing.B) {
					var p *plan.Plan
					var cpu, allocations, bytes float64
					for b.Loop() {
						s := w.Snapshot(pods, capacity, types)
						cost := measure(func() { p = planning.Solve(s) })
						cpu += float64(cost.CPU)
						allocations, bytes = allocations+float64(cost.Allocations), bytes+float64(cost.Bytes)
					}
					b.ReportMetric(cpu/float64(b.N)/1e6, "solve-cpu-ms")
					b.ReportMetric(allocations/float64(b.N), "solve-allocs")
					b.ReportMetric(bytes/float64(b.N)/(1<<20), "solve-MiB")
					b.ReportMetric(p.PricePerHour, "$/h")
					b.ReportMetric(p.PricePerHour/p.LowerBoundPerHour, "price/bound")
				})
			}
		}
	}
}
