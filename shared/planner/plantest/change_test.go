package plantest

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
)

func onClaim(p *plan.Plan, pods int, f func(*plan.PlannedNodeClaim) bool) bool {
	for i := range p.NodeClaims {
		if len(p.NodeClaims[i].Pods) >= pods && f(&p.NodeClaims[i]) {
			return true
		}
	}
	return false
}

func onPlannedPod(s *plan.Snapshot, p *plan.Plan, f func(*plan.PlannedNodeClaim, *corev1.Pod) bool) bool {
	return onClaim(p, 1, func(c *plan.PlannedNodeClaim) bool { return f(c, podNamed(s, c.Pods[0])) })
}

func onNomination(p *plan.Plan, f func(*plan.Nomination) bool) bool {
	return len(p.Nominations) > 0 && f(&p.Nominations[0])
}

func onNominatedNode(s *plan.Snapshot, p *plan.Plan, f func(*plan.Node, *corev1.Pod) bool) bool {
	return slices.ContainsFunc(p.Nominations, func(n plan.Nomination) bool {
		for i := range s.Nodes {
			node := &s.Nodes[i]
			if node.Node != nil && node.Node.Name == n.NodeName ||
				node.NodeClaim != nil && n.NodeClaimName == node.NodeClaim.Name {
				return f(node, podNamed(s, n.Pod))
			}
		}
		return false
	})
}

func podNamed(s *plan.Snapshot, ref plan.PodRef) *corev1.Pod {
	return &s.Pods[slices.IndexFunc(s.Pods,
		func(p corev1.Pod) bool { return p.Name == ref.Name && p.Namespace == ref.Namespace })]
}

func poolNamed(s *plan.Snapshot, c *plan.PlannedNodeClaim) *api.NodePool {
	return &s.NodePools[slices.IndexFunc(s.NodePools,
		func(p api.NodePool) bool { return p.Name == c.NodeClaim.Labels[api.NodePoolLabelKey] })]
}

func setReasons(p *plan.Plan, reasons []plan.Reason) bool {
	p.Unplaced[len(p.Unplaced)-1].Reasons = reasons
	return true
}

// leaveOut makes a pod unplaced. Its node keeps another pod.
func leaveOut(_ *plan.Snapshot, p *plan.Plan) bool {
	return onClaim(p, 2, func(c *plan.PlannedNodeClaim) bool {
		p.Unplaced = append(p.Unplaced, plan.Unplaced{Pod: c.Pods[0], Reasons: []plan.Reason{{Message: "it was not wanted"}}})
		c.Pods = c.Pods[1:]
		return true
	})
}

// allowSmallerType adds a type to a claim that has less CPU than the claim's first pod requests.
func allowSmallerType(s *plan.Snapshot, p *plan.Plan) bool {
	return onPlannedPod(s, p, func(c *plan.PlannedNodeClaim, pod *corev1.Pod) bool {
		asks := podRequests(pod)[corev1.ResourceCPU]
		for _, typ := range s.InstanceTypes[poolNamed(s, c).Name] {
			if slices.Contains(c.InstanceTypes, typ.Name) || typ.Allocatable.Cpu().MilliValue() >= asks {
				continue
			}
			for i := range c.NodeClaim.Spec.Requirements {
				r := &c.NodeClaim.Spec.Requirements[i]
				if r.Key == corev1.LabelInstanceTypeStable {
					r.Values = append(slices.Clone(r.Values), typ.Name)
				}
			}
			if slices.ContainsFunc(
				plannedNodeOf(s, p, c).variants,
				func(v variant) bool { return v.instanceType.Name == typ.Name },
			) {
				return true
			}
		}
		return false
	})
}

// openZone makes a pod select its node's expected zone, and removes the zone from the claim's
// requirements.
func openZone(s *plan.Snapshot, p *plan.Plan) bool {
	return onPlannedPod(s, p, func(c *plan.PlannedNodeClaim, pod *corev1.Pod) bool {
		pod.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: c.Offerings[0].Zone}
		c.NodeClaim.Spec.Requirements = slices.DeleteFunc(
			c.NodeClaim.Spec.Requirements,
			func(r api.NodeSelectorRequirementWithMinValues) bool {
				return r.Key == corev1.LabelTopologyZone || r.Key == api.LabelTopologyZoneID
			},
		)
		delete(c.NodeClaim.Labels, corev1.LabelTopologyZone)
		delete(c.NodeClaim.Labels, api.LabelTopologyZoneID)
		return slices.ContainsFunc(
			plannedNodeOf(s, p, c).variants,
			func(v variant) bool { return v.offering.Zone != c.Offerings[0].Zone },
		)
	})
}

// plannedNodeOf returns a claim's node as Check reads it.
func plannedNodeOf(s *plan.Snapshot, p *plan.Plan, c *plan.PlannedNodeClaim) *plannedNode {
	hosts := newChecker(s, p).hosts
	return hosts[slices.IndexFunc(hosts, func(h *host) bool { return h.planned != nil && h.planned.claim == c })].planned
}

// pileUp spreads two pods of a node over zones, in a cluster whose nodes are all in one zone.
func pileUp(s *plan.Snapshot, p *plan.Plan) bool {
	if len(p.NodeClaims) != 1 ||
		slices.ContainsFunc(s.NodePools, func(pool api.NodePool) bool { return pool.Spec.Limits != nil }) {
		return false
	}
	for i := range s.Nodes {
		if s.Nodes[i].Node == nil || s.Nodes[i].Node.Labels[corev1.LabelTopologyZone] != p.NodeClaims[0].Offerings[0].Zone {
			return false
		}
	}
	return onClaim(p, 2, func(c *plan.PlannedNodeClaim) bool {
		first, second := podNamed(s, c.Pods[0]), podNamed(s, c.Pods[1])
		if first.Namespace != second.Namespace {
			return false
		}
		for _, pod := range []*corev1.Pod{first, second} {
			pod.Labels = map[string]string{"spread": "yes"}
			pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				TopologyKey: corev1.LabelTopologyZone, MaxSkew: 1, WhenUnsatisfiable: corev1.DoNotSchedule,
				LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels},
			}}
		}
		checker := newChecker(s, p)
		for _, pod := range []*corev1.Pod{first, second} {
			waiting := checker.waiting[pod.Namespace+"/"+pod.Name]
			if len(checker.reachableDomains(waiting, corev1.LabelTopologyZone, true)) < 2 {
				return false
			}
		}
		return true
	})
}
