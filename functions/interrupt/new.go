package interrupt

import (
	"context"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/shared/queue"
)

// New returns the handler of a container. It sends nothing yet. The error names each setting that
// is missing or wrong.
func New(ctx context.Context, deps function.Deps) (*Handler, error) {
	settings := deps.Settings()
	h := &Handler{
		cluster: settings.Required("CLUSTER_NAME"), interrupt: settings.Required("INTERRUPT_QUEUE_URL"),
		provision: settings.Required("PROVISION_QUEUE_URL"), lifecycle: settings.Required("LIFECYCLE_QUEUE_URL"),
		now: deps.Clock(),
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
	h.connect = func(ctx context.Context) (kubernetes, error) {
		client, err := connection.Client(ctx)
		return edge{client}, err
	}
	h.sender = queue.NewSender(sqs.NewFromConfig(loaded), h.now)
	h.serve = h.retrying(function.Standby(connection, h.metrics, h.handle, h.aside))
	return h, nil
}

// Handle answers a batch of EventBridge's events. Messages that failed come back soon, and during
// standby all messages that may matter after it. Handle returns no error.
func (h *Handler) Handle(ctx context.Context, batch lambdaevents.SQSEvent) (lambdaevents.SQSEventResponse, error) {
	return h.serve(ctx, batch)
}
