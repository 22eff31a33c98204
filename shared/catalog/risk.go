package catalog

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/api"
)

// interruptionHours is the default cost of an interruption: what the instance costs in a quarter of
// an hour. For about so long two nodes are paid for, while pods start again.
const interruptionHours = 0.25

// Risk is what interruptions of spot nodes cost.
type Risk struct {
	// Rates are those of Interruptions.Rates.
	Rates map[string]float64
	// Cost is what one interruption costs, in US dollars. Nil is a quarter of an hour of the
	// instance.
	Cost *float64
}

// WithRisk returns the types with the cost of their interruptions in the prices of their spot
// offerings. It copies what it changes, and keeps offerings in order of price.
func WithRisk(types []InstanceType, risk Risk) []InstanceType {
	if len(risk.Rates) == 0 || risk.Cost != nil && *risk.Cost <= 0 {
		return types
	}
	var made []InstanceType
	for i := range types {
		offerings := risk.addTo(&types[i])
		if offerings == nil {
			continue
		}
		if made == nil {
			made = slices.Clone(types)
		}
		made[i].Offerings = offerings
	}
	if made == nil {
		return types
	}
	return made
}

// addTo returns the type's offerings with their risks, and nil where none has one.
func (r *Risk) addTo(t *InstanceType) []Offering {
	var made []Offering
	for j := range t.Offerings {
		o := &t.Offerings[j]
		rate := r.Rates[spotPoolKey(t.Name, o.Zone)]
		if o.CapacityType != api.CapacityTypeSpot || rate == 0 || o.Unpriced {
			continue
		}
		if made == nil {
			made = slices.Clone(t.Offerings)
		}
		cost := float64(interruptionHours * o.InstancePrice())
		if r.Cost != nil {
			cost = *r.Cost
		}
		made[j].Risk = float64(rate * cost) // rounded, so that every machine adds the same
		made[j].Price += made[j].Risk
	}
	sortOfferings(made)
	return made
}

// WithoutRisk returns the types with the prices that they have where interruptions cost nothing. It
// copies what it changes.
func WithoutRisk(types []InstanceType) []InstanceType {
	var made []InstanceType
	for i := range types {
		if !slices.ContainsFunc(types[i].Offerings, func(o Offering) bool { return o.Risk != 0 }) {
			continue
		}
		if made == nil {
			made = slices.Clone(types)
		}
		made[i].Offerings = slices.Clone(types[i].Offerings)
		for j := range made[i].Offerings {
			o := &made[i].Offerings[j]
			o.Price, o.Risk = o.Price-o.Risk, 0
		}
		sortOfferings(made[i].Offerings)
	}
	if made == nil {
		return types
	}
	return made
}
