package plantest

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
)

// WithLimits adds limits of money and limits that span NodePools to the snapshot, by the seed, and
// returns it.
func WithLimits(s *plan.Snapshot, seed uint64) *plan.Snapshot {
	random := rand.New(rand.NewPCG(seed, 0x6c696d697473))
	dollars := func(most int) resource.Quantity {
		return *resource.NewMilliQuantity(int64(100+random.IntN(most)), resource.DecimalSI)
	}
	for i := range s.NodePools {
		pool := &s.NodePools[i]
		if pool.Spec.Replicas != nil || random.IntN(2) == 0 {
			continue
		}
		limits := api.Limits{api.ResourceDollarsPerHour: dollars(1500)}
		for name, most := range pool.Spec.Limits {
			limits[name] = most
		}
		pool.Spec.Limits = limits
	}
	selectors := []*metav1.LabelSelector{
		nil,
		{MatchLabels: map[string]string{api.CapacityTypeLabelKey: api.CapacityTypeSpot}},
		{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: corev1.LabelArchStable, Operator: metav1.LabelSelectorOpNotIn, Values: []string{"arm64"}},
		}},
		{MatchLabels: map[string]string{api.NodePoolLabelKey: "pool-0"}},
		{MatchLabels: map[string]string{teamLabel: "red"}},
	}
	if domains := s.Nodes; len(domains) > 0 && domains[0].Node != nil {
		zone := domains[0].Node.Labels[corev1.LabelTopologyZone]
		selectors = append(selectors, &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelTopologyZone: zone}})
	}
	for i := range random.IntN(3) {
		l := plan.Limit{
			Kind: "CapacityQuota", Name: fmt.Sprintf("quota-%d", i), Selector: selectors[random.IntN(len(selectors))],
			Resources: corev1.ResourceList{
				corev1.ResourceCPU: *resource.NewQuantity(int64(4+random.IntN(80)), resource.DecimalSI),
			},
		}
		if random.IntN(2) == 0 {
			l.Resources[api.ResourceNodes] = *resource.NewQuantity(int64(1+random.IntN(12)), resource.DecimalSI)
		}
		s.Limits = append(s.Limits, l)
	}
	if random.IntN(3) == 0 {
		s.Limits = append(s.Limits, plan.Limit{
			Kind: plan.LimitOfSetting, Name: "maxDollarsPerHour",
			Resources: corev1.ResourceList{api.ResourceDollarsPerHour: dollars(4000)},
		})
	}
	return s
}
