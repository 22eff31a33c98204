// Package deployed reads the settings that plans depend on from a function's environment.
//
// Its place: functions that plan call it at their start. The command line has the same settings from the
// cluster, where provision tells them (sight.SettingsOf).
package deployed

import (
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
	}
}
