package api_test

import (
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
)

func TestWhatAPoolLetsConsolidationTake(t *testing.T) {
	three := int64(3)
	for _, test := range []struct {
		name                 string
		spec                 api.NodePoolSpec
		empty, underutilized bool
		quiet                time.Duration
		weighs               bool
	}{
		{"the default policy", spec(api.ConsolidationPolicyWhenEmptyOrUnderutilized, api.DurationOf(0)), true, true, 0, false},
		{"nothing set", api.NodePoolSpec{}, true, true, 0, false},
		{"after a minute", spec(api.ConsolidationPolicyWhenEmptyOrUnderutilized, api.DurationOf(time.Minute)),
			true, true, time.Minute, false},
		{"empty nodes alone", spec(api.ConsolidationPolicyWhenEmpty, api.DurationOf(time.Minute)),
			true, false, time.Minute, false},
		{"balanced", spec(api.ConsolidationPolicyBalanced, api.DurationOf(0)), true, true, 0, true},
		{"never", spec(api.ConsolidationPolicyWhenEmptyOrUnderutilized, api.NeverDuration()), false, false, 0, false},
		{"never, and empty nodes alone", spec(api.ConsolidationPolicyWhenEmpty, api.NeverDuration()),
			false, false, 0, false},
		{"a fixed number of nodes", api.NodePoolSpec{Replicas: &three}, false, false, 0, false},
	} {
		pool := api.NodePool{Spec: test.spec}
		if got := pool.ConsolidatesEmpty(); got != test.empty {
			t.Errorf("%s: empty nodes go: %v, want %v", test.name, got, test.empty)
		}
		if got := pool.ConsolidatesUnderutilized(); got != test.underutilized {
			t.Errorf("%s: underutilized nodes go: %v, want %v", test.name, got, test.underutilized)
		}
		if got := pool.QuietTime(); got != test.quiet {
			t.Errorf("%s: quiet time %s, want %s", test.name, got, test.quiet)
		}
		if got := pool.WeighsDisturbance(); got != test.weighs {
			t.Errorf("%s: weighs the disturbance: %v, want %v", test.name, got, test.weighs)
		}
	}
}

func spec(policy api.ConsolidationPolicy, after api.NillableDuration) api.NodePoolSpec {
	return api.NodePoolSpec{Disruption: api.Disruption{ConsolidationPolicy: policy, ConsolidateAfter: after}}
}
