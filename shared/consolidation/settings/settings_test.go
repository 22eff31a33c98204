package settings_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/consolidation/settings"
)

// TestAConsolidateAfterThatSomebodyWroteWins holds that Whittle's settle time does not override an
// explicit 0s, which looks like the default otherwise.
func TestAConsolidateAfterThatSomebodyWroteWins(t *testing.T) {
	for _, test := range []struct {
		spec       string
		annotation string
		want       time.Duration
	}{
		{`{}`, "", 10 * time.Minute},
		{`{"consolidationPolicy": "WhenEmpty"}`, "", 10 * time.Minute},
		{`{"consolidateAfter": "0s"}`, "", 0},
		{`{"consolidateAfter": "30s"}`, "", 0},
		{`{"consolidateAfter": "0s"}`, "5m", 5 * time.Minute},
	} {
		pool := &api.NodePool{}
		if err := json.Unmarshal([]byte(test.spec), &pool.Spec.Disruption); err != nil {
			t.Fatal(err)
		}
		pool.Default()
		// The API server stores the default, and gives it back as if somebody had written it.
		stored, err := json.Marshal(pool)
		if err != nil {
			t.Fatal(err)
		}
		pool = &api.NodePool{}
		if err := json.Unmarshal(stored, pool); err != nil {
			t.Fatal(err)
		}
		if test.annotation != "" {
			pool.Annotations = map[string]string{settings.SettleTimeAnnotationKey: test.annotation}
		}
		if got, err := settings.Read(pool); err != nil || got.Settle != test.want {
			t.Errorf("%s: settles for %s, %v; want %s", test.spec, got.Settle, err, test.want)
		}
	}
}

func TestSettings(t *testing.T) {
	standard := settings.Settings{PerPod: 0.001, Part: 0.15, Settle: 10 * time.Minute, JobSavings: 2, SpotTypes: 15}
	keeping := standard
	keeping.KeepJobs = true
	fewer := standard
	fewer.SpotTypes = 5
	for _, test := range []struct {
		key, value string
		want       settings.Settings
		fails      bool
	}{
		{"", "", standard, false},
		{
			settings.MinimumSavingsAnnotationKey, "0",
			settings.Settings{Part: 0.15, Settle: 10 * time.Minute, JobSavings: 2, SpotTypes: 15}, false,
		},
		{
			settings.MinimumSavingsAnnotationKey, "0.01",
			settings.Settings{PerPod: 0.01, Part: 0.15, Settle: 10 * time.Minute, JobSavings: 2, SpotTypes: 15}, false,
		},
		{settings.MinimumSavingsAnnotationKey, "-1", settings.Settings{}, true},
		{settings.MinimumSavingsAnnotationKey, "NaN", settings.Settings{}, true},
		{
			settings.MinimumSavingsPercentAnnotationKey, "20",
			settings.Settings{PerPod: 0.001, Part: 0.2, Settle: 10 * time.Minute, JobSavings: 2, SpotTypes: 15}, false,
		},
		{settings.MinimumSavingsPercentAnnotationKey, "101", settings.Settings{}, true},
		{settings.MinimumSavingsPercentAnnotationKey, "20%", settings.Settings{}, true},
		{
			settings.SettleTimeAnnotationKey, "1h",
			settings.Settings{PerPod: 0.001, Part: 0.15, Settle: time.Hour, JobSavings: 2, SpotTypes: 15}, false,
		},
		{settings.SettleTimeAnnotationKey, "soon", settings.Settings{}, true},
		{settings.KeepJobsAnnotationKey, "false", standard, false},
		{settings.KeepJobsAnnotationKey, "true", keeping, false},
		{
			settings.JobSavingsAnnotationKey, "0",
			settings.Settings{PerPod: 0.001, Part: 0.15, Settle: 10 * time.Minute, SpotTypes: 15}, false,
		},
		{settings.JobSavingsAnnotationKey, "-1", settings.Settings{}, true},
		{settings.JobSavingsAnnotationKey, "NaN", settings.Settings{}, true},
		{settings.KeepJobsAnnotationKey, "yes", settings.Settings{}, true},
		{settings.SpotToSpotTypesAnnotationKey, "5", fewer, false},
		{settings.SpotToSpotTypesAnnotationKey, "0", settings.Settings{}, true},
		{settings.SpotToSpotTypesAnnotationKey, "-3", settings.Settings{}, true},
		{settings.SpotToSpotTypesAnnotationKey, "2.5", settings.Settings{}, true},
		{settings.SpotToSpotTypesAnnotationKey, "few", settings.Settings{}, true},
		{settings.SpotToSpotTypesAnnotationKey, "", settings.Settings{}, true},
	} {
		t.Run(test.key+"="+test.value, func(t *testing.T) {
			pool := &api.NodePool{}
			if test.key != "" {
				pool.Annotations = map[string]string{test.key: test.value}
			}
			got, err := settings.Read(pool)
			if (err != nil) != test.fails || err == nil && got != test.want {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

// The error is all that the owner of the NodePool reads.
func TestABrokenNumberOfSpotTypesNamesTheRemedy(t *testing.T) {
	pool := &api.NodePool{}
	pool.Annotations = map[string]string{settings.SpotToSpotTypesAnnotationKey: "five"}
	_, err := settings.Read(pool)
	want := `annotation whittle.dev/spot-to-spot-types is "five": write a whole number of instance types, such as "5"`
	if err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
}
