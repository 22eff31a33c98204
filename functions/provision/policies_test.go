package main

import (
	"testing"

	"github.com/whittle-dev/whittle/shared/plan"
)

func TestReadPolicies(t *testing.T) {
	for _, test := range []struct {
		preference, minValues string
		want                  policies
		fails                 string
	}{
		{"", "", policies{plan.PreferencesRespected, plan.MinValuesStrict}, ""},
		{"Respect", "Strict", policies{plan.PreferencesRespected, plan.MinValuesStrict}, ""},
		{"Ignore", "BestEffort", policies{plan.PreferencesIgnored, plan.MinValuesBestEffort}, ""},
		{"ignore", "", policies{}, `environment variable PREFERENCE_POLICY is "ignore": set it to Respect or Ignore, or leave it out for Respect`},
		{"", "Best", policies{}, `environment variable MIN_VALUES_POLICY is "Best": set it to Strict or BestEffort, or leave it out for Strict`},
	} {
		got, err := readPolicies(func(name string) string {
			return map[string]string{"PREFERENCE_POLICY": test.preference, "MIN_VALUES_POLICY": test.minValues}[name]
		})
		switch {
		case test.fails == "" && (err != nil || got != test.want):
			t.Errorf("%q, %q: %+v, %v", test.preference, test.minValues, got, err)
		case test.fails != "" && (err == nil || err.Error() != test.fails):
			t.Errorf("%q, %q: error %v, want %s", test.preference, test.minValues, err, test.fails)
		}
	}
}
