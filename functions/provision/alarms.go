package provision

import (
	"context"
	"log/slog"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/freeze"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/queue"
)

// readAlarms reads the CloudWatch alarms that freeze disruption, and stores them where each function
// reads freezes. Where CloudWatch does not answer, the last reading counts for some minutes.
func (h *Handler) readAlarms(ctx context.Context, client *cluster.Client) {
	if h.alarms == nil {
		return
	}
	read, err := h.alarms.Read(ctx)
	if err == nil {
		err = placeClasses(ctx, client, read)
	}
	if err == nil {
		err = inventory.PutAlarms(ctx, client, read)
	}
	if err != nil {
		slog.WarnContext(ctx, "alarms are not read: what is known of them counts for minutes, and then disruption is frozen",
			"minutes", freeze.AlarmsBelieved.Minutes(), "error", err)
		return
	}
	if missing := read.Missing(); len(missing) > 0 {
		slog.WarnContext(ctx, "alarms do not exist, and freeze disruption", "alarms", strings.Join(missing, ", "))
	}
}

// placeClasses finds the pools of classes that alarms are about. It lists no pool for others.
func placeClasses(ctx context.Context, client *cluster.Client, read *freeze.Alarms) error {
	if !read.OfClasses() {
		return nil
	}
	pools, err := client.NodePools(ctx)
	if err != nil {
		return err
	}
	read.PoolsOfClasses(classOf(pools))
	return nil
}

func classOf(pools []api.NodePool) map[string]string {
	classes := map[string]string{}
	for i := range pools {
		if class := pools[i].Spec.Template.Spec.NodeClassRef; class != nil {
			classes[pools[i].Name] = class.Name
		}
	}
	return classes
}

// forgetAlarms removes what an earlier deployment stored of alarms. Nobody reads them any more, so that
// they would freeze disruption for ever.
func (h *Handler) forgetAlarms(ctx context.Context, client *cluster.Client, frozen *freeze.Freezes) *freeze.Freezes {
	if h.alarms != nil || h.dryRun || !frozen.ByAlarms() {
		return frozen
	}
	if err := inventory.ForgetAlarms(ctx, client); err != nil {
		slog.WarnContext(ctx, "alarms of an earlier deployment are not removed", "error", err)
		return frozen
	}
	slog.InfoContext(ctx, "alarms of an earlier deployment are removed")
	return frozen.WithoutAlarms()
}

// answerAlarms answers the messages of a batch that tell of an alarm, and returns the others. It needs no
// Lease, so that it does not wait for a pass under way. The event itself says nothing: the state is read.
func (h *Handler) answerAlarms(ctx context.Context, batch events.SQSEvent) (others events.SQSEvent) {
	others, told := withoutAlarms(batch)
	if !told || h.alarms == nil {
		return others
	}
	client, err := h.connection.Client(ctx)
	if err != nil {
		slog.WarnContext(ctx, "an event about an alarm is not answered: the next tick reads the alarms", "error", err)
		return others
	}
	slog.InfoContext(ctx, "an event tells of an alarm")
	h.report(ctx, client)
	return others
}

// withoutAlarms leaves out the messages that tell of an alarm. Told reports whether there was one.
func withoutAlarms(batch events.SQSEvent) (others events.SQSEvent, told bool) {
	for _, record := range batch.Records {
		if message, err := queue.Parse(record.Body); err == nil && message.Reason == queue.ReasonAlarm {
			told = true
			continue
		}
		others.Records = append(others.Records, record)
	}
	return others, told
}
