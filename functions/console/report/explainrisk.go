package report

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planning"
)

// whatRiskDecides says which node the planned one's pods would get if interruptions cost nothing,
// where that is another one. It plans for these pods alone, with the risk and without. Where the
// first plan is not the planned node, other pods decided too, and it says nothing.
func whatRiskDecides(planned *plan.PlannedNodeClaim, s *plan.Snapshot) string {
	types, has := withoutRisk(s.InstanceTypes)
	if !has || len(planned.Offerings) == 0 {
		return ""
	}
	alone := *s
	alone.Nodes, alone.Pods = nil, podsOf(planned, s.Pods)
	with, known := offeringAlone(&alone)
	if !known || !isSame(with, &planned.Offerings[0]) {
		return ""
	}
	alone.InstanceTypes = types
	without, known := offeringAlone(&alone)
	if !known || isSame(without, with) {
		return ""
	}
	text := fmt.Sprintf("without the risk of interruptions it would be %s, %s in %s, $%s/h",
		without.InstanceType, without.CapacityType, without.Zone, dollars(without.Price))
	if risk := riskOf(without, s.InstanceTypes[planned.NodeClaim.Labels[api.NodePoolLabelKey]]); risk > 0 {
		text += ": its interruptions lately count as $" + dollars(risk) + "/h"
	}
	return text
}

// withoutRisk returns the types without the risks in their prices, and whether there were any.
func withoutRisk(lists map[string][]catalog.InstanceType) (map[string][]catalog.InstanceType, bool) {
	made, has := maps.Clone(lists), false
	for pool, list := range lists {
		free := catalog.WithoutRisk(list)
		if len(list) > 0 && &free[0] != &list[0] {
			made[pool], has = free, true
		}
	}
	return made, has
}

func podsOf(planned *plan.PlannedNodeClaim, pods []corev1.Pod) []corev1.Pod {
	wanted := map[string]bool{}
	for _, pod := range planned.Pods {
		wanted[pod.String()] = true
	}
	return slices.DeleteFunc(slices.Clone(pods), func(pod corev1.Pod) bool { return !wanted[pod.Namespace+"/"+pod.Name] })
}

// offeringAlone is the expected offering of the one new node that takes all pods.
func offeringAlone(s *plan.Snapshot) (*plan.Choice, bool) {
	solved := planning.Solve(s)
	if len(solved.NodeClaims) != 1 || len(solved.NodeClaims[0].Offerings) == 0 ||
		len(solved.NodeClaims[0].Pods) != len(s.Pods) {
		return nil, false
	}
	return &solved.NodeClaims[0].Offerings[0], true
}

func isSame(a, b *plan.Choice) bool {
	return a.InstanceType == b.InstanceType && a.Zone == b.Zone && a.CapacityType == b.CapacityType
}

// riskOf is the risk in the price of the offering.
func riskOf(choice *plan.Choice, types []catalog.InstanceType) float64 {
	for i := range types {
		for _, o := range types[i].Offerings {
			if types[i].Name == choice.InstanceType && o.Zone == choice.Zone && o.CapacityType == choice.CapacityType {
				return o.Risk
			}
		}
	}
	return 0
}
