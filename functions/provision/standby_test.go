package provision

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/whittle-dev/whittle/shared/metrics"
	"github.com/whittle-dev/whittle/shared/queue"
)

// TestStandbyMeasuresPendingPods holds that the alarm about pods that nobody serves still rings
// during standby, and that an interruption is looked at again after it.
func TestStandbyMeasuresPendingPods(t *testing.T) {
	e := newEnvironment(t)
	e.pod("one", "1", nil)
	h := e.handler(alive())
	var numbers strings.Builder
	h.metrics = metrics.NewRecorder(clusterName, &numbers, time.Now)
	for _, batch := range []events.SQSEvent{tick("1"), interruption("2")} {
		if response, err := h.aside(t.Context(), batch); err != nil || len(response.BatchItemFailures) > 0 {
			t.Fatal(response, err)
		}
		if got := numbers.String(); !strings.Contains(got, `"PodsPending":1`) ||
			!strings.Contains(got, `"OldestPodPendingSeconds"`) {
			t.Errorf("measured %s", got)
		}
		numbers.Reset()
	}
	if sent := e.sent.messages; len(sent) != 1 || sent[0].Reason != queue.ReasonContinue || sent[0].Hop != 1 {
		t.Errorf("sent %+v, want the interruption once more", sent)
	}
	if len(e.instances()) != 0 {
		t.Error("launched an instance in standby")
	}
}
