package limit

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Types are the instance types of each NodePool.
type Types map[string][]catalog.InstanceType

// Counts reports whether the node is one of the limit's. It does not ask whether the node leaves.
func (l *Limit) Counts(node *plan.Node, types Types) bool {
	if l.Pool != "" {
		return node.Pool() == l.Pool
	}
	if l.kind == plan.LimitOfSetting && node.Pool() == "" {
		return false // a node that Whittle did not launch
	}
	for key, want := range l.selector {
		if !mayHave(node, key, want, types) {
			return false
		}
	}
	return true
}

// mayHave reports whether the node has a wanted value of the label, or may get one.
func mayHave(node *plan.Node, key string, want scheduling.Requirement, types Types) bool {
	claim := node.NodeClaim
	if claim == nil {
		value, ok := node.Node.Labels[key]
		return ok && want.Has(value) || !ok && want.AllowsAbsent()
	}
	if value, ok := claim.Labels[key]; ok {
		return want.Has(value)
	}
	for i := range claim.Spec.Requirements {
		term := &claim.Spec.Requirements[i]
		if term.Key != key {
			continue
		}
		have, err := scheduling.ParseRequirement(term.Key, term.Operator, term.Values...)
		return err != nil || have.Intersects(want)
	}
	if node.Node != nil {
		if value, ok := node.Node.Labels[key]; ok {
			return want.Has(value)
		}
	}
	return want.AllowsAbsent() || isOfNewNode(key, want) || typeMayHave(claim, key, want, types)
}

// typeMayHave reports whether one of the types that the claim allows has a wanted value of the
// label.
func typeMayHave(claim *api.NodeClaim, key string, want scheduling.Requirement, types Types) bool {
	if !scheduling.IsWellKnown(key) {
		return false
	}
	labels := requirementsOf(claim)
	return slices.ContainsFunc(typesOf(claim, labels, types), func(typ *catalog.InstanceType) bool {
		have, ok := typ.Requirements[key]
		return ok && have.Intersects(want)
	})
}

// Price is what the node counts with against limits of money, in US dollars an hour: the list price
// of its offering, or the highest among those that its claim allows. It is zero where nobody knows
// it, and for a node without a claim.
func Price(node *plan.Node, types Types) float64 {
	if node.PricePerHour > 0 || node.NodeClaim == nil {
		return node.PricePerHour
	}
	requirements := requirementsOf(node.NodeClaim)
	offerings := catalog.ReadOfferingRequirements(requirements)
	most, available := 0.0, 0.0
	for _, typ := range typesOf(node.NodeClaim, requirements, types) {
		for i := range typ.Offerings {
			o := &typ.Offerings[i]
			if o.Unpriced || o.Coverage != nil || !offerings.Allow(o) {
				continue
			}
			if most = max(most, o.Billed()); o.Available {
				available = max(available, o.Billed())
			}
		}
	}
	if available > 0 && node.NodeClaim.Status.ProviderID == "" {
		return available // a launch takes none of the others
	}
	return most
}

// ListPrice is what the bill has for the offering without a commitment.
func ListPrice(typ *catalog.InstanceType, o *catalog.Offering) float64 {
	if o.Coverage == nil {
		return o.Billed()
	}
	for i := range typ.Offerings {
		other := &typ.Offerings[i]
		if other.Coverage == nil && other.Zone == o.Zone && other.CapacityType == o.CapacityType &&
			other.ReservationID == o.ReservationID {
			return other.Billed()
		}
	}
	return o.Billed()
}

func requirementsOf(claim *api.NodeClaim) scheduling.Requirements {
	requirements, err := scheduling.FromTerms(claim.Spec.Requirements)
	if err != nil {
		requirements = scheduling.Requirements{}
	}
	requirements.Merge(scheduling.FromLabels(claim.Labels))
	return requirements
}

// typesOf are the instance types that the claim's node may be: those of its NodePool, or of any
// other where its own has none of them now. There are none if the claim does not say.
func typesOf(claim *api.NodeClaim, requirements scheduling.Requirements, types Types) []*catalog.InstanceType {
	names, ok := requirements[corev1.LabelInstanceTypeStable]
	if !ok {
		return nil
	}
	own := claim.Labels[api.NodePoolLabelKey]
	named := namedTypes(types[own], names)
	if len(named) > 0 {
		return named
	}
	for _, pool := range slices.Sorted(maps.Keys(types)) {
		if named = namedTypes(types[pool], names); len(named) > 0 {
			return named
		}
	}
	return nil
}

func namedTypes(types []catalog.InstanceType, names scheduling.Requirement) []*catalog.InstanceType {
	var named []*catalog.InstanceType
	for i := range types {
		if names.Has(types[i].Name) {
			named = append(named, &types[i])
		}
	}
	return named
}
