package catalog

import "github.com/whittle-dev/whittle/shared/api"

// Savings are what a node costs less than the same instance type on demand.
type Savings struct {
	// PerHour is in the currency of the prices, Fraction of the on-demand price: 0.7 is 70 % less. Both are negative for what costs more.
	PerHour  float64 `json:"perHour"`
	Fraction float64 `json:"fraction"`
}

// SavingsAgainst compares a price with the on-demand price of the same type, both an hour. It is zero where one of them is not known.
func SavingsAgainst(onDemand, price float64) Savings {
	if onDemand <= 0 || price <= 0 {
		return Savings{}
	}
	return Savings{PerHour: onDemand - price, Fraction: (onDemand - price) / onDemand}
}

// Savings is what a node of the type bought through the offering saves. A reservation saves nothing by being used: it is paid for either way, and the
// price it has here is only for putting it first.
func (t *InstanceType) Savings(offering Offering) Savings {
	if offering.CapacityType == api.CapacityTypeReserved {
		return Savings{}
	}
	return SavingsAgainst(t.OnDemandPrice, offering.Price)
}
