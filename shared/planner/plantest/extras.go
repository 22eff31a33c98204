package plantest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
)

// WithVolumes limits the EBS volumes of some instance types to few, and gives some pods several
// volumes. It changes the snapshot, the same for the same seed, and returns it.
func WithVolumes(s *plan.Snapshot, seed uint64) *plan.Snapshot {
	random := rand.New(rand.NewPCG(seed, 0x766f6c756d6573))
	for _, pool := range s.NodePools {
		types := slices.Clone(s.InstanceTypes[pool.Name])
		for i := range types {
			types[i].Volumes = random.IntN(7)
		}
		s.InstanceTypes[pool.Name] = types
	}
	for i := range s.Pods {
		pod := &s.Pods[i]
		if random.IntN(3) > 0 {
			continue
		}
		pod.Spec.Volumes = slices.Clone(pod.Spec.Volumes)
		for n := range 1 + random.IntN(3) {
			pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: fmt.Sprintf("more-%d", n),
				VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
					VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: claimSpec("gp3")}}}})
		}
	}
	return s
}

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

// WithInterruptions lets EC2 have taken back nodes of some spot pools lately, at a cost by the
// NodePool. It changes the snapshot, the same for the same seed, and returns it.
func WithInterruptions(s *plan.Snapshot, seed uint64) *plan.Snapshot {
	random := rand.New(rand.NewPCG(seed, 0x7269736b))
	rates := map[string]float64{}
	for i := range s.NodePools {
		types := s.InstanceTypes[s.NodePools[i].Name]
		for j := range types {
			for _, zone := range zoneNames {
				key := types[j].Name + ":" + zone
				if _, has := rates[key]; !has && random.IntN(3) == 0 {
					rates[key] = float64(1+random.IntN(500)) / 1000
				}
			}
		}
	}
	for i := range s.NodePools {
		risk := catalog.Risk{Rates: rates}
		if cost := 0.02 * float64(random.IntN(10)); random.IntN(2) == 0 {
			risk.Cost = &cost
		}
		name := s.NodePools[i].Name
		s.InstanceTypes[name] = catalog.WithRisk(s.InstanceTypes[name], risk)
	}
	return s
}
