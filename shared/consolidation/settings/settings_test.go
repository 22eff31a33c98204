package settings_test

import (
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/consolidation/settings"
)

func TestSettings(t *testing.T) {
	for _, test := range []struct {
		key, value string
		want       settings.Settings
		fails      bool
	}{
		{"", "", settings.Settings{0.001, 0.15, 10 * time.Minute}, false},
		{settings.MinimumSavingsAnnotationKey, "0", settings.Settings{0, 0.15, 10 * time.Minute}, false},
		{settings.MinimumSavingsAnnotationKey, "0.01", settings.Settings{0.01, 0.15, 10 * time.Minute}, false},
		{settings.MinimumSavingsAnnotationKey, "-1", settings.Settings{}, true},
		{settings.MinimumSavingsAnnotationKey, "NaN", settings.Settings{}, true},
		{settings.MinimumSavingsPercentAnnotationKey, "20", settings.Settings{0.001, 0.2, 10 * time.Minute}, false},
		{settings.MinimumSavingsPercentAnnotationKey, "101", settings.Settings{}, true},
		{settings.MinimumSavingsPercentAnnotationKey, "20%", settings.Settings{}, true},
		{settings.SettleTimeAnnotationKey, "1h", settings.Settings{0.001, 0.15, time.Hour}, false},
		{settings.SettleTimeAnnotationKey, "soon", settings.Settings{}, true},
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
