package api

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

const maxOverlayWeight = 10000

// Validate reports everything that is wrong with a node overlay, joined, each a
// *FieldError. An overlay that fails gets the condition ValidationSucceeded false and
// counts for nothing.
func (o *NodeOverlay) Validate() error {
	f := &findings{kind: NodeOverlayKind, name: o.Name}
	f.validateOverlayRequirements("spec.requirements", o.Spec.Requirements)
	f.validateOverlayPrice(o.Spec)
	f.validateOverlayCapacity("spec.capacity", o.Spec.Capacity)
	if w := o.Spec.Weight; w != nil && (*w < minWeight || *w > maxOverlayWeight) {
		f.add("spec.weight", *w, "is out of range: use a number from %d to %d, or none", minWeight, maxOverlayWeight)
	}
	return f.err()
}

func (f *findings) validateOverlayRequirements(path string, requirements []corev1.NodeSelectorRequirement) {
	if requirements == nil {
		f.missing(path, "is missing: write the conditions, or [] for every instance type")
	}
	if len(requirements) > maxRequirements {
		f.missing(path, "has %d entries: remove all but %d", len(requirements), maxRequirements)
	}
	for i, r := range requirements {
		at := fmt.Sprintf("%s[%d]", path, i)
		f.validateRequirement(at, NodeSelectorRequirementWithMinValues{Key: r.Key, Operator: r.Operator, Values: r.Values})
		if slices.Contains(labelsBeyondOverlays(), NormalizedLabel(r.Key)) {
			f.add(at+".key", r.Key, "is nothing that an overlay can be about, since it is settled at the launch: remove the requirement")
		}
		if r.Operator == corev1.NodeSelectorOpNotIn && len(r.Values) == 0 {
			f.missing(at+".values", "is empty: the operator NotIn on %q needs at least one value", r.Key)
		}
	}
}

// labelsBeyondOverlays are well-known labels that no overlay may select by.
func labelsBeyondOverlays() []string {
	return []string{
		LabelInstanceTenancy, LabelCapacityReservationID, LabelCapacityReservationType, LabelCapacityReservationInterruptible,
		LabelPlacementGroupID, LabelPlacementGroupPartition,
	}
}

func (f *findings) validateOverlayPrice(spec NodeOverlaySpec) {
	if spec.Price != nil && spec.PriceAdjustment != nil {
		f.add("spec.priceAdjustment", *spec.PriceAdjustment, "cannot be together with price: remove one")
	}
	if spec.Price != nil {
		if _, err := ParseOverlayPrice(*spec.Price); err != nil {
			f.add("spec.price", *spec.Price, "%v", err)
		}
	}
	if spec.PriceAdjustment != nil {
		if _, err := ParsePriceAdjustment(*spec.PriceAdjustment); err != nil {
			f.add("spec.priceAdjustment", *spec.PriceAdjustment, "%v", err)
		}
	}
}

// validateOverlayCapacity refuses what EC2 and the node class settle.
func (f *findings) validateOverlayCapacity(path string, capacity corev1.ResourceList) {
	for _, name := range resourceNames(capacity) {
		at, quantity := fmt.Sprintf("%s[%s]", path, name), capacity[name]
		if problems := validation.IsQualifiedName(string(name)); len(problems) > 0 {
			f.add(at, string(name), "is no name of a resource: %s", strings.Join(problems, "; "))
		}
		if quantity.Sign() < 0 {
			f.add(at, quantity.String(), "is negative: use zero or more")
		}
		switch name {
		case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage, corev1.ResourcePods:
			f.add(at, quantity.String(), "cannot be overlaid: an overlay adds extended resources only, remove it")
		case ResourceNVIDIAGPU, ResourceAMDGPU, ResourceAWSNeuron, ResourceAWSNeuronCore, ResourceHabanaGaudi, ResourceAWSPodENI, ResourceEFA:
			f.add(at, quantity.String(), "cannot be overlaid, EC2 says how much of it an instance type has: remove it")
		}
	}
}

// ParseOverlayPrice reads an absolute price in US dollars an hour.
func ParseOverlayPrice(text string) (float64, error) {
	price, ok := parseDecimal(text)
	if !ok || strings.HasPrefix(text, ".") {
		return 0, fmt.Errorf("is no price: write US dollars an hour without a sign, such as 0.25")
	}
	return price, nil
}

// PriceAdjustment is a change of a price: Dollars an hour are added, or with
// IsPercentage that part of it. Both have their sign.
//
// +kubebuilder:object:generate=false
type PriceAdjustment struct {
	Amount       float64
	IsPercentage bool
}

// ParsePriceAdjustment reads a change of a price: +0.1, -0.1, +10% or -10%.
func ParsePriceAdjustment(text string) (PriceAdjustment, error) {
	number, percentage := strings.CutSuffix(text, "%")
	unsigned, negative := strings.CutPrefix(number, "-")
	if !negative {
		var positive bool
		if unsigned, positive = strings.CutPrefix(number, "+"); !positive {
			return PriceAdjustment{}, fmt.Errorf("is no change of a price, it has no sign: write +0.1, -0.1, +10%% or -10%%")
		}
	}
	amount, ok := parseDecimal(unsigned)
	if !ok {
		return PriceAdjustment{}, fmt.Errorf("is no change of a price: write +0.1, -0.1, +10%% or -10%%")
	}
	if percentage && negative && amount > 100 {
		return PriceAdjustment{}, fmt.Errorf("takes more than the whole price away: write at most -100%%")
	}
	if negative {
		amount = -amount
	}
	return PriceAdjustment{Amount: amount, IsPercentage: percentage}, nil
}

// Apply is the price after the change; never less than zero.
func (a PriceAdjustment) Apply(price float64) float64 {
	if a.IsPercentage {
		price *= 1 + a.Amount/100
	} else {
		price += a.Amount
	}
	// The comparison is such that what is no number becomes zero too.
	if price > 0 {
		return min(price, math.MaxFloat64)
	}
	return 0
}

var decimal = regexp.MustCompile(`^([0-9]+(\.[0-9]+)?|\.[0-9]+)$`)

// parseDecimal reads digits with at most one dot; false for anything else that
// strconv would take, and for what is beyond numbers.
func parseDecimal(text string) (float64, bool) {
	if !decimal.MatchString(text) {
		return 0, false
	}
	number, err := strconv.ParseFloat(text, 64)
	return number, err == nil
}
