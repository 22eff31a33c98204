package catalog

import "github.com/whittle-dev/whittle/shared/api"

// Savings is the difference between a node's price and the on-demand price of its type.
type Savings struct {
	// PerHour is in the currency of the prices. Fraction is relative to the on-demand price: 0.7
	// means 70% less. Both are negative for a node that costs more.
	PerHour  float64 `json:"perHour"`
	Fraction float64 `json:"fraction"`
}

// SavingsAgainst compares a price with the on-demand price of the same type, both for an hour. It
// returns zero where one of them is unknown.
func SavingsAgainst(onDemand, price float64) Savings {
	if onDemand <= 0 || price <= 0 {
		return Savings{}
	}
	return Savings{PerHour: onDemand - price, Fraction: (onDemand - price) / onDemand}
}

// Savings returns the savings of an instance of the type with the offering. Using a reservation saves
// nothing, because it is paid for in any case. Its price only puts it first.
func (t *InstanceType) Savings(offering Offering) Savings {
	if offering.CapacityType == api.CapacityTypeReserved {
		return Savings{}
	}
	return SavingsAgainst(t.OnDemandPrice, offering.InstancePrice())
}
