package catalog

import "slices"

// WithExtras returns the types as nodes that cost so much more an hour than their instances. It
// copies what it changes. An offering without a known price stays without one.
func WithExtras(types []InstanceType, extras float64) []InstanceType {
	if extras <= 0 {
		return types
	}
	made := slices.Clone(types)
	for i := range made {
		made[i].Offerings = slices.Clone(made[i].Offerings)
		for j := range made[i].Offerings {
			if o := &made[i].Offerings[j]; o.Price > 0 || o.Available {
				o.Price, o.Extras = o.Price+extras, o.Extras+extras
			}
		}
	}
	return made
}
