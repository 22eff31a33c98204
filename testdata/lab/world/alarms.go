package world

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/cloudwatch"
	"github.com/whittle-dev/whittle/testdata/lab/eventbridge"
)

// Ringing returns the alarms that ring.
func (w *World) Ringing() ([]string, error) { return w.alarms.Ringing(time.Now(), w.metric) }

// SetAlarm sets the state of an alarm. EventBridge hears of a change, unless its event is lost.
func (w *World) SetAlarm(ctx context.Context, name, state string, lost bool) {
	if lost {
		w.alarms.SetStateQuietly(name, state)
		return
	}
	w.alarms.SetState(ctx, name, state, "set by the local world")
}

// PutEvent puts an event of people on the default bus.
func (w *World) PutEvent(ctx context.Context, source, detailType, detail string) {
	w.bus.Put(ctx, eventbridge.Event{Source: source, DetailType: detailType, Detail: json.RawMessage(detail)})
}

// metric returns a metric's values for the stack's alarms. Those of queues are current, Lambda's
// come from the invocations, and Whittle's own from the functions' logs.
func (w *World) metric(metric cloudwatch.Metric, from, to time.Time) ([]float64, error) {
	var values []float64
	switch metric.Namespace + " " + metric.Name {
	case "AWS/SQS ApproximateNumberOfMessagesVisible":
		count, err := w.waiting(metric.Dimensions["QueueName"])
		return []float64{float64(count)}, err
	case "AWS/SQS ApproximateAgeOfOldestMessage":
		age, err := w.queues.OldestMessage(metric.Dimensions["QueueName"])
		return []float64{age.Seconds()}, err
	case "AWS/Lambda Invocations", "AWS/Lambda Errors":
		for _, invocation := range w.Invocations() {
			if invocation.Function != metric.Dimensions["FunctionName"] || invocation.Started.Before(from) ||
				!invocation.Started.Before(to) {
				continue
			}
			if metric.Name == "Invocations" || invocation.ErrorType != "" {
				values = append(values, 1)
			}
		}
		return values, nil
	}
	if metric.Namespace != "Whittle" {
		return nil, fmt.Errorf("the local AWS has no metric %s %s", metric.Namespace, metric.Name)
	}
	for _, function := range []string{"provision", "lifecycle", "interrupt", "disrupt"} {
		for _, line := range w.FunctionLog(function) {
			if found, at := cloudwatch.Embedded(line, metric); !at.Before(from) && at.Before(to) {
				values = append(values, found...)
			}
		}
	}
	return values, nil
}
