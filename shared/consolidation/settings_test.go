package consolidation

import (
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
)

func TestSettings(t *testing.T) {
	for _, test := range []struct {
		key, value string
		want       settings
		fails      bool
	}{
		{"", "", settings{0.001, 0.15, 10 * time.Minute}, false},
		{MinimumSavingsAnnotationKey, "0", settings{0, 0.15, 10 * time.Minute}, false},
		{MinimumSavingsAnnotationKey, "0.01", settings{0.01, 0.15, 10 * time.Minute}, false},
		{MinimumSavingsAnnotationKey, "-1", settings{}, true},
		{MinimumSavingsAnnotationKey, "NaN", settings{}, true},
		{MinimumSavingsPercentAnnotationKey, "20", settings{0.001, 0.2, 10 * time.Minute}, false},
		{MinimumSavingsPercentAnnotationKey, "101", settings{}, true},
		{MinimumSavingsPercentAnnotationKey, "20%", settings{}, true},
		{SettleTimeAnnotationKey, "1h", settings{0.001, 0.15, time.Hour}, false},
		{SettleTimeAnnotationKey, "soon", settings{}, true},
	} {
		t.Run(test.key+"="+test.value, func(t *testing.T) {
			pool := &api.NodePool{}
			if test.key != "" {
				pool.Annotations = map[string]string{test.key: test.value}
			}
			got, err := settingsOf(pool)
			if (err != nil) != test.fails || err == nil && got != test.want {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}
