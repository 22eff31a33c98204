package catalog

import (
	"fmt"
	"strings"
	"time"
)

// Prices describes the age and currency of a snapshot's prices.
type Prices struct {
	// Currency is the currency of all prices; empty is USD. Only regions in China use another, CNY.
	Currency string `json:"currency,omitempty"`
	// OnDemandTime is the last time at which the whole price list was read, or zero.
	OnDemandTime time.Time `json:"onDemandTime,omitzero"`
	// BuiltinTime and BuiltinRegion are the date and region of the built-in prices that replace
	// missing ones of the price list. Builtin is the number of types with such a price.
	BuiltinTime   time.Time `json:"builtinTime,omitzero"`
	BuiltinRegion string    `json:"builtinRegion,omitempty"`
	Builtin       int       `json:"builtin,omitempty"`
}

// PriceAges returns one line with the ages of the snapshot's prices, for people.
func (s *Catalog) PriceAges(now time.Time) string {
	var parts []string
	if s.Prices.OnDemandTime.IsZero() {
		parts = append(parts, "on-demand prices were never read")
	} else {
		parts = append(parts, "on-demand prices of "+age(now, s.Prices.OnDemandTime))
	}
	if s.Prices.Builtin > 0 {
		parts = append(
			parts,
			fmt.Sprintf(
				"%d instance types at the built-in prices of %s as of %s", s.Prices.Builtin, s.Prices.BuiltinRegion,
				s.Prices.BuiltinTime.Format(time.DateOnly),
			),
		)
	}
	if s.SpotPriceTime.IsZero() {
		parts = append(parts, "spot prices were never read: on-demand prices stand in for them")
	} else {
		parts = append(parts, "spot prices of "+age(now, s.SpotPriceTime))
	}
	if s.Prices.Currency != "" {
		parts = append(parts, "all in "+s.Prices.Currency)
	}
	return strings.Join(parts, "; ")
}

func age(now, then time.Time) string {
	passed := now.Sub(then)
	switch {
	case passed < time.Minute:
		return "just now"
	case passed < 2*time.Hour:
		return fmt.Sprintf("%d minutes ago", int(passed.Minutes()))
	case passed < 48*time.Hour:
		return fmt.Sprintf("%d hours ago", int(passed.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(passed.Hours()/24))
}
