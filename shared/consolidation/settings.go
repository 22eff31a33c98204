package consolidation

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
)

// Annotations of a NodePool about what consolidation may do to its nodes.
const (
	// MinimumSavingsAnnotationKey is what a move must save for each pod that it evicts, in US dollars an hour, such as "0.001"; "0" for any gain.
	MinimumSavingsAnnotationKey = api.OwnGroup + "/consolidation-minimum-savings"
	// MinimumSavingsPercentAnnotationKey is what a move must save of the price of the nodes that it takes away, in percent, such as "10"; "0" for any gain.
	MinimumSavingsPercentAnnotationKey = api.OwnGroup + "/consolidation-minimum-savings-percent"
	// SettleTimeAnnotationKey is how long a node is left alone once it is initialized, and once pods have been moved to it, such as "30m".
	SettleTimeAnnotationKey = api.OwnGroup + "/consolidation-settle-time"
)

// What a NodePool without the annotations asks for. A new pod takes a minute or so to do its work again, at the price of the two nodes that run for it meanwhile: what
// a pod is moved for has to come to some cents a month at least, or its restarts cost more than they bring. And each time a node is replaced its price falls by a seventh
// or more, so that it cannot go on for long.
const (
	// DefaultMinimumSavings is 0.001 US dollars an hour for each pod, some 73 cents a month.
	DefaultMinimumSavings = 0.001
	// DefaultMinimumSavingsPercent is about a seventh of the nodes' price.
	DefaultMinimumSavingsPercent = 15
	// DefaultSettleTime is ten minutes, in which a batch of new pods has mostly come up.
	DefaultSettleTime = 10 * time.Minute
)

// settings are what a NodePool asks of a move.
type settings struct {
	// perPod is US dollars an hour, part of the nodes' price.
	perPod, part float64
	settle       time.Duration
}

// settingsOf reads the annotations. The error names the one that cannot be read.
func settingsOf(pool *api.NodePool) (settings, error) {
	s := settings{perPod: DefaultMinimumSavings, part: DefaultMinimumSavingsPercent / 100.0, settle: DefaultSettleTime}
	if text, ok := pool.Annotations[MinimumSavingsAnnotationKey]; ok {
		value, err := strconv.ParseFloat(text, 64)
		if err != nil || value < 0 || math.IsInf(value, 0) || math.IsNaN(value) {
			return s, fmt.Errorf("annotation %s is %q: write US dollars an hour for each pod moved, such as %q", MinimumSavingsAnnotationKey, text, "0.001")
		}
		s.perPod = value
	}
	if text, ok := pool.Annotations[MinimumSavingsPercentAnnotationKey]; ok {
		value, err := strconv.ParseFloat(text, 64)
		if err != nil || !(value >= 0 && value <= 100) {
			return s, fmt.Errorf("annotation %s is %q: write a number from 0 to 100, such as %q", MinimumSavingsPercentAnnotationKey, text, "10")
		}
		s.part = value / 100
	}
	if text, ok := pool.Annotations[SettleTimeAnnotationKey]; ok {
		value, err := time.ParseDuration(text)
		if err != nil || value < 0 {
			return s, fmt.Errorf("annotation %s is %q: write a duration such as %q", SettleTimeAnnotationKey, text, "30m")
		}
		s.settle = value
	}
	return s, nil
}
