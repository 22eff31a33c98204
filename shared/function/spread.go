package function

import "github.com/whittle-dev/whittle/shared/spread"

// DefaultSpread reads the constraints of pods that have none. Without the variable there are none.
func DefaultSpread(settings *Settings) spread.Defaults {
	const name = "DEFAULT_TOPOLOGY_SPREAD"
	defaults, err := spread.Parse(settings.lookup(name))
	if err != nil {
		settings.invalid(name, err.Error())
		return nil
	}
	return defaults
}
