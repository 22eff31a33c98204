package offering

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// ClaimTypes are the instance types that the NodeClaim's node may be, or the one that it is after
// launch. There are none if the claim does not say.
func (ix *Index) ClaimTypes(claim *api.NodeClaim) []*catalog.InstanceType {
	if claim.Spec.NodeClassRef == nil {
		return nil
	}
	requirements, err := scheduling.FromTerms(claim.Spec.Requirements)
	if err != nil {
		return nil
	}
	requirements.Merge(scheduling.FromLabels(claim.Labels))
	names, ok := requirements[corev1.LabelInstanceTypeStable]
	if !ok {
		return nil
	}
	var types []*catalog.InstanceType
	for _, typ := range ix.typesOfPool(claim.Labels[api.NodePoolLabelKey]).all {
		if names.Has(typ.Name) {
			types = append(types, typ)
		}
	}
	return types
}

// ClaimAllocatable is what pods may use of the claim's node: what the claim's status says, else the
// least amount of each resource among the types.
func (ix *Index) ClaimAllocatable(claim *api.NodeClaim, types []*catalog.InstanceType) corev1.ResourceList {
	if len(claim.Status.Allocatable) > 0 {
		return claim.Status.Allocatable.DeepCopy()
	}
	least := corev1.ResourceList{}
	for _, name := range ix.Work.Axes.Names {
		for i, typ := range types {
			quantity := typ.Allocatable[name]
			if present := least[name]; i == 0 || quantity.Cmp(present) < 0 {
				least[name] = quantity
			}
		}
	}
	return least
}

// capacityOf is a node's capacity, for limits: what its claim says, else what the node says, else the
// greatest amount of each resource among the types that the claim allows.
func (ix *Index) capacityOf(node *plan.Node) corev1.ResourceList {
	if capacity := node.Capacity(); len(capacity) > 0 || node.NodeClaim == nil {
		return capacity
	}
	most := corev1.ResourceList{}
	for _, typ := range ix.ClaimTypes(node.NodeClaim) {
		for name, quantity := range typ.Capacity {
			if present, ok := most[name]; !ok || present.Cmp(quantity) < 0 {
				most[name] = quantity
			}
		}
	}
	return most
}
