package function

import "github.com/whittle-dev/whittle/shared/metrics"

// Recorder returns the Recorder of a cluster's metrics, with the detail of the stack's setting metrics.
func (d Deps) Recorder(settings *Settings, cluster string) *metrics.Recorder {
	detail := Choice(settings, "METRICS", metrics.DetailFew, metrics.DetailFull, metrics.DetailOff)
	return metrics.NewRecorder(cluster, d.output(), d.Clock()).Limited(detail)
}
