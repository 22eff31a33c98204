package provision

import (
	"context"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/whittle-dev/whittle/shared/alarm"
	"github.com/whittle-dev/whittle/shared/classes"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/shared/publish"
	"github.com/whittle-dev/whittle/shared/queue"
	"github.com/whittle-dev/whittle/shared/reaction"
	"github.com/whittle-dev/whittle/shared/sight/deployed"
	"github.com/whittle-dev/whittle/shared/zonalshift"
)

// New returns the handler of a container. It sends nothing yet. The error names each setting that
// is missing or wrong.
func New(ctx context.Context, deps function.Deps) (*Handler, error) {
	settings := deps.Settings()
	h := &Handler{
		cluster: settings.Required("CLUSTER_NAME"), provision: settings.Required("PROVISION_QUEUE_URL"),
		lifecycle: settings.Required("LIFECYCLE_QUEUE_URL"), dryRun: deps.DryRun(), now: deps.Clock(),
		settings: deployed.Settings(settings),
	}
	unchecked := settings.Enabled("DISABLE_DRY_RUN")  // Karpenter's setting, about the dry runs of launches
	expressions := settings.Enabled("NODE_CLASS_CEL") // Karpenter's gate NodeClassCEL
	watch := reaction.ReadSettings(settings)
	alarms := function.Parsed(settings, "FREEZE_ALARMS", `write a list such as ["errors","latency=nodepool/batch"]`,
		alarm.Parse)
	freezing := alarm.Settings{
		Watched: alarms, Tagged: settings.Enabled("FREEZE_TAGGED_ALARMS"),
		OnInsufficientData: settings.Enabled("FREEZE_ON_INSUFFICIENT_DATA"),
	}
	karpenter := function.KarpenterAccounts(settings)
	h.metrics = deps.Recorder(settings, h.cluster)
	if err := settings.Err(); err != nil {
		return nil, err
	}
	loaded, err := deps.Configuration(ctx)
	if err != nil {
		return nil, err
	}
	connection := deps.Connection(loaded, h.cluster)
	connection.Karpenter = karpenter
	h.connection = connection
	h.fleet = fleet.NewLauncher(ec2.NewFromConfig(loaded), ec2.NewFromConfig(loaded), h.cluster)
	h.classes = classes.NewResolver(loaded, h.cluster)
	h.classes.DryRun = !unchecked && !h.dryRun // a dry run needs a launch template
	h.shifts = zonalshift.New(loaded, settings.Optional("ZONAL_SHIFT_CLUSTER_ARN"), h.now)
	if !h.dryRun { // which disrupts nothing
		h.alarms = alarm.New(loaded, freezing, h.now)
	}
	h.classes.Expressions = expressions
	h.watch = reaction.NewStarter(loaded, watch)
	h.publisher = publish.New(loaded, settings.Optional("EVENT_BUS"), h.now, h.metrics.Denied)
	h.sender = queue.NewSender(sqs.NewFromConfig(loaded), h.now)
	h.serve = function.Standby(connection, h.metrics, h.handle, h.aside)
	return h, nil
}

// Handle answers a batch of messages with one pass: it launches nodes for the pods that are pending.
// During standby it only measures them. A message that cannot be read comes back alone. After an
// error all messages come back.
func (h *Handler) Handle(ctx context.Context, batch events.SQSEvent) (events.SQSEventResponse, error) {
	return h.serve(ctx, batch)
}
