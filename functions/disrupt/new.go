package disrupt

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/shared/publish"
	"github.com/whittle-dev/whittle/shared/queue"
	"github.com/whittle-dev/whittle/shared/sight/deployed"
	"github.com/whittle-dev/whittle/shared/zonalshift"
)

// parseTerminateFirst reads a list of reasons.
func parseTerminateFirst(text string) (disruption.TerminateFirst, error) {
	var reasons disruption.TerminateFirst
	for item := range strings.SplitSeq(text, ",") {
		switch reason := api.DisruptionReason(strings.TrimSpace(item)); reason {
		case api.DisruptionReasonDrifted, api.DisruptionReasonUnhealthy:
			reasons = append(reasons, reason)
		default:
			return nil, fmt.Errorf("%q is no reason for which a node may end first", reason)
		}
	}
	return reasons, nil
}

// New returns the handler of a container. It sends nothing yet. The error names each setting that
// is missing or wrong.
func New(ctx context.Context, deps function.Deps) (*Handler, error) {
	settings := deps.Settings()
	h := &Handler{
		cluster: settings.Required("CLUSTER_NAME"), now: deps.Clock(), disrupt: settings.Required("DISRUPT_QUEUE_URL"),
		lifecycle: settings.Required("LIFECYCLE_QUEUE_URL"), provision: settings.Required("PROVISION_QUEUE_URL"),
	}
	h.settings = deployed.Settings(settings)
	h.terminateFirst = function.Parsed(settings, "TERMINATE_FIRST", "write Drifted, Unhealthy, or both with a comma",
		parseTerminateFirst)
	if h.settings.ManagedDeletionCosts {
		h.podCosts = &settledFleet{}
	}
	h.rebootForRepair = settings.Enabled("REBOOT_FOR_REPAIR") // Karpenter's gate RebootForRepair
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
	shifts := zonalshift.New(loaded, settings.Optional("ZONAL_SHIFT_CLUSTER_ARN"), h.now)
	h.connect = func(ctx context.Context) (kubernetes, error) {
		client, err := connection.Client(ctx)
		return edge{Client: client, shifts: shifts}, err
	}
	h.publisher = publish.New(loaded, settings.Optional("EVENT_BUS"), h.now, h.metrics.Denied)
	h.sender = queue.NewSender(sqs.NewFromConfig(loaded), h.now)
	h.serve = function.Standby(connection, h.metrics, h.handle, nil)
	return h, nil
}

// Handle answers a batch of messages with one pass: it removes and replaces nodes. During standby it
// does nothing. A message that cannot be read comes back alone. After an error all messages come
// back.
func (h *Handler) Handle(ctx context.Context, batch events.SQSEvent) (events.SQSEventResponse, error) {
	return h.serve(ctx, batch)
}
