package planner_test

import (
	"fmt"
	"testing"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/claims"
	"github.com/whittle-dev/whittle/shared/planner/resource"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// verify checks a plan against its snapshot by the rules of Kubernetes. It looks at one pod and one
// node at a time, and uses none of the planner's sets and vectors.
func verify(t *testing.T, s *plan.Snapshot, solved *plan.Plan) {
	t.Helper()
	pods := map[plan.PodRef]*corev1.Pod{}
	for i := range s.Pods {
		pods[plan.RefOf(&s.Pods[i])] = &s.Pods[i]
	}
	seen := map[plan.PodRef]string{}
	place := func(ref plan.PodRef, where string) {
		if pods[ref] == nil {
			t.Errorf("%s is planned and does not wait", ref)
		}
		if before, ok := seen[ref]; ok {
			t.Errorf("%s has two places: %s and %s", ref, before, where)
		}
		seen[ref] = where
	}
	use := map[string]corev1.ResourceList{}
	for i := range solved.NodeClaims {
		claim := &solved.NodeClaims[i]
		where := fmt.Sprintf("claim %d", i)
		var members []*corev1.Pod
		for _, ref := range claim.Pods {
			place(ref, where)
			members = append(members, pods[ref])
		}
		pool := claim.NodeClaim.Labels[api.NodePoolLabelKey]
		if use[pool] == nil {
			use[pool] = corev1.ResourceList{}
		}
		resource.AddLists(use[pool], verifyClaim(t, s, claim, members))
	}
	onNode := map[string][]*corev1.Pod{}
	for _, n := range solved.Nominations {
		place(n.Pod, n.NodeName+n.NodeClaimName)
		if n.NodeName != "" {
			onNode[n.NodeName] = append(onNode[n.NodeName], pods[n.Pod])
		}
	}
	for i := range s.Nodes {
		// A starting node does not have its final labels and resources yet.
		if n := &s.Nodes[i]; n.Node != nil && n.NodeClaim == nil {
			verifyNode(t, s, n, onNode[n.Node.Name])
		}
	}
	for _, u := range solved.Unplaced {
		place(u.Pod, "unplaced")
		if len(u.Reasons) == 0 {
			t.Errorf("%s has no place and no reason", u.Pod)
		}
	}
	if len(seen) != len(s.Pods) {
		t.Errorf("%d of %d pods are in the plan", len(seen), len(s.Pods))
	}
	for i := range s.NodePools {
		pool := &s.NodePools[i]
		for name, most := range pool.Spec.Limits {
			if planned := use[pool.Name][name]; planned.Cmp(most) > 0 {
				t.Errorf("pool %s: %s of %s planned, limit %s", pool.Name, planned.String(), name, most.String())
			}
		}
	}
	if solved.LowerBoundPerHour > solved.PricePerHour*(1+1e-12) {
		t.Errorf("bound %v above price %v", solved.LowerBoundPerHour, solved.PricePerHour)
	}
}

// verifyClaim checks the node of each offering that the claim lists. It returns the most that any
// of them takes of the pool's limits.
func verifyClaim(t *testing.T, s *plan.Snapshot, claim *plan.PlannedNodeClaim, pods []*corev1.Pod) corev1.ResourceList {
	t.Helper()
	if len(claim.Pods) == 0 || len(claim.Offerings) == 0 || len(claim.InstanceTypes) > claims.MaximumTypes {
		t.Errorf(
			"claim with %d pods, %d offerings, %d types",
			len(claim.Pods),
			len(claim.Offerings),
			len(claim.InstanceTypes),
		)
	}
	requirements, err := scheduling.FromTerms(claim.NodeClaim.Spec.Requirements)
	if err != nil {
		t.Fatal(err)
	}
	most := corev1.ResourceList{}
	for i, choice := range claim.Offerings {
		if i > 0 && choice.Price < claim.Offerings[i-1].Price {
			t.Errorf("offerings are not sorted by price")
		}
		if !requirements[corev1.LabelInstanceTypeStable].Has(choice.InstanceType) ||
			!requirements[corev1.LabelTopologyZone].Has(choice.Zone) ||
			!requirements[api.CapacityTypeLabelKey].Has(choice.CapacityType) {
			t.Errorf("the claim's requirements do not allow its choice %+v", choice)
		}
		node, typ := nodeOf(t, s, claim, choice)
		verifyNode(t, s, &plan.Node{Node: node, NodeClaim: &claim.NodeClaim}, pods)
		for name, quantity := range typ.Capacity {
			if have, ok := most[name]; !ok || have.Cmp(quantity) < 0 {
				most[name] = quantity
			}
		}
	}
	most[api.ResourceNodes] = *resource.QuantityOf(api.ResourceNodes, 1)
	return most
}

// nodeOf returns the node that a claim becomes with an offering.
func nodeOf(
	t *testing.T,
	s *plan.Snapshot,
	claim *plan.PlannedNodeClaim,
	choice plan.Choice,
) (*corev1.Node, *catalog.InstanceType) {
	t.Helper()
	types := s.InstanceTypes[claim.NodeClaim.Labels[api.NodePoolLabelKey]]
	for i := range types {
		if types[i].Name != choice.InstanceType {
			continue
		}
		node := &corev1.Node{}
		node.Name = "new"
		node.Labels = types[i].Requirements.Labels()
		for key, value := range claim.NodeClaim.Labels {
			node.Labels[key] = value
		}
		node.Labels["beta.kubernetes.io/arch"] = node.Labels[corev1.LabelArchStable]
		node.Labels[corev1.LabelTopologyZone], node.Labels[api.CapacityTypeLabelKey] = choice.Zone, choice.CapacityType
		found := false
		for _, offering := range types[i].Offerings {
			if offering.Zone == choice.Zone && offering.CapacityType == choice.CapacityType && offering.Available &&
				offering.Price == choice.Price {
				node.Labels[api.LabelTopologyZoneID] = offering.ZoneID
				found = true
			}
		}
		if !found {
			t.Errorf("choice %+v is not on offer", choice)
		}
		node.Spec.Taints = claim.NodeClaim.Spec.Taints
		node.Status.Allocatable = types[i].Allocatable
		return node, &types[i]
	}
	t.Fatalf("no instance type %q", choice.InstanceType)
	return nil, nil
}

func verifyNode(t *testing.T, s *plan.Snapshot, n *plan.Node, pods []*corev1.Pod) {
	t.Helper()
	if len(pods) == 0 {
		return
	}
	sum := corev1.ResourceList{}
	for i := range n.Pods {
		if !scheduling.IsTerminal(&n.Pods[i]) {
			resource.AddLists(sum, scheduling.PodRequests(&n.Pods[i]))
		}
	}
	for i := range s.DaemonSets {
		template := &s.DaemonSets[i].Spec.Template
		daemon := &corev1.Pod{Spec: template.Spec}
		runs, err := nodeaffinity.GetRequiredNodeAffinity(daemon).Match(n.Node)
		if err != nil {
			t.Fatal(err)
		}
		if runs && scheduling.ToleratesAll(n.Node.Spec.Taints, template.Spec.Tolerations) {
			resource.AddLists(sum, scheduling.DaemonPodRequests(template))
		}
	}
	for _, pod := range pods {
		resource.AddLists(sum, scheduling.PodRequests(pod))
		if err := scheduling.Tolerates(n.Node.Spec.Taints, pod.Spec.Tolerations); err != nil {
			t.Errorf("%s on %s: %v", pod.Name, n.Name(), err)
		}
		match, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(n.Node)
		if err != nil || !match {
			t.Errorf("%s does not match node %s with labels %v (%v)", pod.Name, n.Name(), n.Node.Labels, err)
		}
	}
	for name, quantity := range sum {
		if have := n.Node.Status.Allocatable[name]; quantity.Cmp(have) > 0 {
			t.Errorf(
				"node %s of type %s: %s of %s planned, it has %s",
				n.Name(),
				n.Node.Labels[corev1.LabelInstanceTypeStable],
				quantity.String(),
				name,
				have.String(),
			)
		}
	}
}
