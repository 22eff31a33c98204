package evaluation

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/consolidation/state"
	"github.com/whittle-dev/whittle/shared/plan"
)

// weigh refuses the step if it saves too little, and narrows its launches to what is cheap enough.
func (e *Evaluator) weigh(s *Step) {
	price, cheapest := 0.0, 0.0
	spot := true
	for _, n := range s.Delete {
		price += n.Price
		spot = spot && n.Label(api.CapacityTypeLabelKey) == api.CapacityTypeSpot
	}
	for _, launch := range s.Launch {
		cheapest += launch.PricePerHour
	}
	s.Saved = price - cheapest
	if s.Refusal = e.tooLittle(s, state.MinimumSavings(s.Delete)); !s.Refusal.IsZero() || cheapest <= 0 {
		return
	}
	for i, launch := range s.Launch {
		toSpot := spot && launch.Offerings[0].CapacityType == api.CapacityTypeSpot
		// The deleted nodes' price is shared out over the launches: together they cost no more,
		// whichever offerings EC2 gives.
		limit := launch.PricePerHour*(price/cheapest) + PriceError/float64(len(s.Launch))
		kept, err := within(launch, limit, toSpot, e.fleet.PoolOf(launch))
		if err != nil {
			s.Refusal = state.Refusal{Because: state.Needed, Message: err.Error()}
			return
		}
		s.Launch[i] = kept
	}
}

// tooLittle refuses the step if it saves less than the minimum, or less than the policy Balanced
// requires.
func (e *Evaluator) tooLittle(s *Step, minimum float64) state.Refusal {
	switch {
	case s.Saved < minimum-PriceError && s.Saved <= PriceError:
		message := fmt.Sprintf("its %s would cost no less elsewhere", state.Pods(s.PodsMoved()))
		return state.Refusal{Because: state.Needed, Message: message}
	case s.Saved < minimum-PriceError:
		message := fmt.Sprintf("moving %s would save $%.4f/h, less than the $%.4f/h that its NodePool requires",
			state.Pods(s.PodsMoved()), s.Saved, minimum)
		return state.Refusal{Because: state.TooLittle, Message: message}
	case !e.isBalanced(s):
		message := fmt.Sprintf("moving %s would save $%.4f/h, too little of its NodePool's price for the policy Balanced",
			state.Pods(s.PodsMoved()), s.Saved)
		return state.Refusal{Because: state.TooLittle, Message: message}
	}
	return e.keepApart(s)
}

// within returns the claim with only those instance types of which every offering costs no more
// than the limit. With spotToSpot it keeps the cheapest plan.MinimumSpotTypes of them, and fails if
// there are fewer than the pool requires. Fewer types would move spot nodes from one scarce
// offering to the next. More types could give an instance so dear that it is soon replaced.
func within(
	planned *plan.PlannedNodeClaim, limit float64, spotToSpot bool, p *state.Pool,
) (*plan.PlannedNodeClaim, error) {
	dearest := map[string]float64{}
	for _, offering := range planned.Offerings {
		dearest[offering.InstanceType] = max(dearest[offering.InstanceType], offering.Price)
	}
	var types []string
	for _, name := range planned.InstanceTypes {
		if dearest[name] <= limit {
			types = append(types, name)
		}
	}
	least := minValues(&planned.NodeClaim)
	switch {
	case len(types) == 0:
		return nil, fmt.Errorf("no instance type is certain to cost less than the deleted nodes")
	case spotToSpot && len(types) < p.SpotTypes:
		return nil, fmt.Errorf("spot-to-spot replacement requires %d cheaper instance types, and there are %d",
			p.SpotTypes, len(types))
	case spotToSpot && len(least) == 0:
		types = types[:min(len(types), max(p.SpotTypes, plan.MinimumSpotTypes))]
	}
	for _, key := range slices.Sorted(maps.Keys(least)) {
		if have := p.ValuesOf(key, types); have < least[key] {
			return nil, fmt.Errorf("minValues %d of %s leaves no claim that is certain to cost less", least[key], key)
		}
	}
	return narrowed(planned, types), nil
}

// narrowed returns the claim with only the given instance types. It copies what the claims of a
// plan share.
func narrowed(planned *plan.PlannedNodeClaim, types []string) *plan.PlannedNodeClaim {
	made := *planned
	if len(types) == len(planned.InstanceTypes) {
		return &made
	}
	made.InstanceTypes = types
	made.Offerings = nil
	for _, offering := range planned.Offerings {
		if slices.Contains(types, offering.InstanceType) {
			made.Offerings = append(made.Offerings, offering)
		}
	}
	made.TakePrices()
	made.NodeClaim.Spec.Requirements = slices.Clone(planned.NodeClaim.Spec.Requirements)
	for i := range made.NodeClaim.Spec.Requirements {
		r := &made.NodeClaim.Spec.Requirements[i]
		if r.Key == corev1.LabelInstanceTypeStable && r.Operator == corev1.NodeSelectorOpIn {
			r.Values = slices.Sorted(slices.Values(types))
		}
	}
	return &made
}

// minValues returns, by label, the least number of values that the claim's instance types must
// have.
func minValues(claim *api.NodeClaim) map[string]int {
	least := map[string]int{}
	for _, r := range claim.Spec.Requirements {
		if r.MinValues != nil && *r.MinValues > 1 {
			least[r.Key] = max(least[r.Key], *r.MinValues)
		}
	}
	return least
}
