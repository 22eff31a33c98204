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

// Validate returns every problem of a node overlay, each a *FieldError, joined. An overlay with
// problems gets the condition ValidationSucceeded=False, and Whittle ignores it.
func (o *NodeOverlay) Validate() error {
	f := &findings{kind: NodeOverlayKind, name: o.Name}
	f.validateReadable(o.Unreadable)
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
		f.addField(path, "is missing: write the conditions, or [] for every instance type")
	}
	if len(requirements) > maxRequirements {
		f.addField(path, "has %d entries: remove all but %d", len(requirements), maxRequirements)
	}
	for i, r := range requirements {
		at := fmt.Sprintf("%s[%d]", path, i)
		f.validateRequirement(at,
			NodeSelectorRequirementWithMinValues{Key: r.Key, Operator: r.Operator, Values: r.Values})
		if slices.Contains(labelsBeyondOverlays(), NormalizedLabel(r.Key)) {
			f.add(at+".key", r.Key, "cannot be used in an overlay, because the launch sets it: remove the requirement")
		}
		if r.Operator == corev1.NodeSelectorOpNotIn && len(r.Values) == 0 {
			f.addField(at+".values", "is empty: the operator NotIn on %q needs at least one value", r.Key)
		}
	}
}

// labelsBeyondOverlays returns the well-known labels that an overlay may not require.
func labelsBeyondOverlays() []string {
	return []string{
		LabelInstanceTenancy, LabelCapacityReservationID, LabelCapacityReservationType,
		LabelCapacityReservationInterruptible, LabelPlacementGroupID, LabelPlacementGroupPartition,
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

// validateOverlayCapacity refuses resources whose amount EC2 or the node class determines, as Karpenter does. GPUs
// are not among them: device plugins share or divide them under their usual names.
func (f *findings) validateOverlayCapacity(path string, capacity corev1.ResourceList) {
	for _, name := range resourceNames(capacity) {
		at, quantity := fmt.Sprintf("%s[%s]", path, name), capacity[name]
		if problems := validation.IsQualifiedName(string(name)); len(problems) > 0 {
			f.add(at, string(name), "is not a resource name: %s", strings.Join(problems, "; "))
		}
		if quantity.Sign() < 0 {
			f.add(at, quantity.String(), "is negative: use zero or more")
		}
		switch name {
		case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage, corev1.ResourcePods:
			f.add(at, quantity.String(), "cannot be overlaid: an overlay adds extended resources only, remove it")
		case ResourceAWSNeuron, ResourceAWSNeuronCore, ResourceHabanaGaudi, ResourceAWSPodENI, ResourceEFA:
			f.add(at, quantity.String(), "cannot be overlaid, because EC2 gives its amount for each instance type: remove it")
		}
	}
}

// ParseOverlayPrice parses a price in US dollars an hour. The error gives the problem and its
// remedy, without the text.
func ParseOverlayPrice(text string) (float64, error) {
	price, ok := parseDecimal(text)
	if !ok || strings.HasPrefix(text, ".") {
		return 0, fmt.Errorf("is not a price: write US dollars an hour without a sign, such as 0.25")
	}
	return price, nil
}

// PriceAdjustment is a relative change of a price.
//
// +kubebuilder:object:generate=false
type PriceAdjustment struct {
	// Amount has a sign. It is in US dollars an hour, or with IsPercentage in percent of the price.
	Amount       float64
	IsPercentage bool
}

// ParsePriceAdjustment parses a change of a price: +0.1, -0.1, +10% or -10%. The error gives the
// problem and its remedy, without the text.
func ParsePriceAdjustment(text string) (PriceAdjustment, error) {
	number, percentage := strings.CutSuffix(text, "%")
	unsigned, negative := strings.CutPrefix(number, "-")
	if !negative {
		var positive bool
		if unsigned, positive = strings.CutPrefix(number, "+"); !positive {
			return PriceAdjustment{}, fmt.Errorf("is not a change of a price, it has no sign: write +0.1, -0.1, +10%% or -10%%")
		}
	}
	amount, ok := parseDecimal(unsigned)
	if !ok {
		return PriceAdjustment{}, fmt.Errorf("is not a change of a price: write +0.1, -0.1, +10%% or -10%%")
	}
	if percentage && negative && amount > 100 {
		return PriceAdjustment{}, fmt.Errorf("is more than the whole price: write -100%% or less")
	}
	if negative {
		amount = -amount
	}
	return PriceAdjustment{Amount: amount, IsPercentage: percentage}, nil
}

// Apply returns the price after the change, in US dollars an hour, and never less than zero.
func (a PriceAdjustment) Apply(price float64) float64 {
	if a.IsPercentage {
		price *= 1 + a.Amount/100
	} else {
		price += a.Amount
	}
	// NaN compares false, so it becomes zero too.
	if price > 0 {
		return min(price, math.MaxFloat64)
	}
	return 0
}

var decimal = regexp.MustCompile(`^([0-9]+(\.[0-9]+)?|\.[0-9]+)$`)

// parseDecimal parses digits with at most one dot. It returns false for other notations of strconv,
// and for numbers beyond float64.
func parseDecimal(text string) (float64, bool) {
	if !decimal.MatchString(text) {
		return 0, false
	}
	number, err := strconv.ParseFloat(text, 64)
	return number, err == nil
}
