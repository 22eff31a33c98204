package plantest

import (
	"math/rand/v2"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
)

// WithExtras lets the cluster's nodes cost more than their instances, by their pool: a volume, a
// public address, a fee. It changes the snapshot, the same for the same seed, and returns it.
func WithExtras(s *plan.Snapshot, seed uint64) *plan.Snapshot {
	random := rand.New(rand.NewPCG(seed, 0x657874726173))
	for i := range s.NodePools {
		name, extras := s.NodePools[i].Name, 0.0
		for _, part := range []float64{0.0022, 0.005, 0.03} {
			if random.IntN(2) == 0 {
				extras += part
			}
		}
		s.InstanceTypes[name] = catalog.WithExtras(s.InstanceTypes[name], extras)
	}
	return s
}
