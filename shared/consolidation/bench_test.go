package consolidation_test

import (
	"testing"

	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/consolidation/consolidationtest"
)

func BenchmarkSolve(b *testing.B) {
	types := someTypes(b, 12)
	for _, fleet := range consolidationtest.Fleets() {
		b.Run(fleet.Name, func(b *testing.B) {
			s := &consolidation.Input{Cluster: fleet.Make(100, types), Now: now}
			b.ReportAllocs()
			for b.Loop() {
				consolidation.Solve(s)
			}
		})
	}
}
