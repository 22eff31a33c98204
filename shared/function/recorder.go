package function

import (
	"os"
	"time"

	"github.com/whittle-dev/whittle/shared/metrics"
)

// Recorder returns the Recorder of a cluster's metrics, with the detail of the stack's setting metrics.
// Lambda copies the standard output to the function's log.
func Recorder(settings *Settings, cluster string) *metrics.Recorder {
	detail := Choice(settings, "METRICS", metrics.DetailFew, metrics.DetailFull, metrics.DetailOff)
	return metrics.NewRecorder(cluster, os.Stdout, time.Now).Limited(detail)
}
