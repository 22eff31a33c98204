package function

import (
	"strings"

	"github.com/whittle-dev/whittle/shared/metrics"
)

// Recorder returns the Recorder of a cluster's metrics, with the detail of the stack's setting metrics and
// the NodePools of nodePoolMetrics.
func (d Deps) Recorder(settings *Settings, cluster string) *metrics.Recorder {
	detail := Choice(settings, "METRICS", metrics.DetailFew, metrics.DetailFull, metrics.DetailOff)
	pools := strings.FieldsFunc(settings.Optional("NODEPOOL_METRICS"), func(r rune) bool { return r == ',' })
	return metrics.NewRecorder(cluster, d.output(), d.Clock()).Limited(detail).ForPools(pools)
}
