package main

import (
	"fmt"

	"github.com/whittle-dev/whittle/shared/plan"
)

// policies are how the planner weighs what it cannot have all of.
type policies struct {
	preference plan.PreferencePolicy
	minValues  plan.MinValuesPolicy
}

// readPolicies reads Karpenter's settings PREFERENCE_POLICY and MIN_VALUES_POLICY from
// the environment that get looks up; unset they are Respect and Strict.
func readPolicies(get func(string) string) (policies, error) {
	preference, err := choice(get, "PREFERENCE_POLICY", plan.PreferencesRespected, plan.PreferencesIgnored)
	if err != nil {
		return policies{}, err
	}
	minValues, err := choice(get, "MIN_VALUES_POLICY", plan.MinValuesStrict, plan.MinValuesBestEffort)
	return policies{preference: preference, minValues: minValues}, err
}

// choice is the value of a setting, the first of two when it is unset.
func choice[T ~string](get func(string) string, name string, first, second T) (T, error) {
	switch value := T(get(name)); value {
	case "", first:
		return first, nil
	case second:
		return second, nil
	default:
		return "", fmt.Errorf("environment variable %s is %q: set it to %s or %s, or leave it out for %s", name, value, first, second, first)
	}
}
