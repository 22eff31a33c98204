package planner_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
)

// TestAlternativesThatDecideLabels checks a node affinity whose terms lead to nodes with different
// labels. The plan follows the term that costs least for all pods. The cheapest node for one pod
// may cost more for all.
func TestAlternativesThatDecideLabels(t *testing.T) {
	for _, test := range []struct {
		pods  int
		price float64
	}{{1, 0.05}, {10, 0.2}} {
		t.Run(fmt.Sprint(test.pods), func(t *testing.T) {
			s := &plan.Snapshot{
				NodePools:   []api.NodePool{newPool("default")},
				NodeClasses: []api.EC2NodeClass{{}},
				InstanceTypes: map[string][]catalog.InstanceType{
					"default": {
						smallType("small", 2, 16, 0.05, api.ArchitectureAmd64),
						smallType("large", 16, 64, 0.2, api.ArchitectureArm64),
					},
				},
			}
			s.NodeClasses[0].Name = "default"
			term := func(arch string, more ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
				return corev1.NodeSelectorTerm{
					MatchExpressions: append(
						more,
						corev1.NodeSelectorRequirement{
							Key:      corev1.LabelArchStable,
							Operator: corev1.NodeSelectorOpIn,
							Values:   []string{arch},
						},
					),
				}
			}
			for i := range test.pods {
				s.Pods = append(s.Pods, newPod(fmt.Sprint("p", i), "1", "1Gi", func(p *corev1.Pod) {
					p.Spec.Affinity = &corev1.Affinity{
						NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
							NodeSelectorTerms: []corev1.NodeSelectorTerm{
								term(
									api.ArchitectureAmd64,
								), term(api.ArchitectureArm64, corev1.NodeSelectorRequirement{Key: team,
									Operator: corev1.NodeSelectorOpDoesNotExist}),
							}}},
					}
				}))
			}
			plan := planner.Solve(s)
			verify(t, s, plan)
			if len(plan.Unplaced) > 0 || math.Abs(plan.PricePerHour-test.price) > 1e-9 {
				t.Errorf("the plan costs %v, want %v; unplaced are %v", plan.PricePerHour, test.price, plan.Unplaced)
			}
		})
	}
}
