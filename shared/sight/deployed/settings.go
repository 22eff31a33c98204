// Package deployed reads the settings that plans depend on from a function's environment.
//
// Its place: functions that plan call it at their start. The command line has the same settings from the
// cluster, where provision tells them (sight.SettingsOf).
package deployed

import (
	"strconv"

	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/sight"
)

// Settings reads the settings. What is wrong with them is in the error of the function's settings.
func Settings(from *function.Settings) sight.Settings {
	return sight.Settings{
		PreferencePolicy: function.Choice(from, "PREFERENCE_POLICY", plan.PreferencesRespected, plan.PreferencesIgnored),
		MinValuesPolicy:  function.Choice(from, "MIN_VALUES_POLICY", plan.MinValuesStrict, plan.MinValuesBestEffort),

		DefaultTopologySpread: function.DefaultSpread(from),
		CapacityBuffers:       from.Enabled("CAPACITY_BUFFERS"), // Karpenter's gate CapacityBuffer
		ProvisioningRequests:  from.Enabled("PROVISIONING_REQUESTS"),
		ManagedDeletionCosts:  from.Enabled("POD_DELETION_COST"), // Karpenter's gate PodDeletionCostManagement
		Commitments:           from.Enabled("COMMITMENTS"),
		MaxDollarsPerHour:     maxDollarsPerHour(from),
		DispersalPercent:      dispersalPercent(from),
	}
}

// maxDollarsPerHour is the most that all nodes cost together; zero for no such limit.
func maxDollarsPerHour(from *function.Settings) float64 {
	const advice = "write a price in $/h such as 12.5, or leave it out for no limit"
	return function.Parsed(from, "MAX_DOLLARS_PER_HOUR", advice, func(text string) (float64, error) {
		price, err := strconv.ParseFloat(text, 64)
		if err == nil && !(price >= 0 && price <= 1e9) {
			err = strconv.ErrRange
		}
		return price, err
	})
}

// dispersalPercent is what keeping replicas apart may add to the price of new nodes; nil for the default.
func dispersalPercent(from *function.Settings) *float64 {
	const advice = "write percent from 0 to 100 such as 0.5, or leave it out for the default"
	return function.Parsed(from, "DISPERSAL_PERCENT", advice, func(text string) (*float64, error) {
		percent, err := strconv.ParseFloat(text, 64)
		if err == nil && !(percent >= 0 && percent <= 100) {
			err = strconv.ErrRange
		}
		return &percent, err
	})
}
