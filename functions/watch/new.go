package watch

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/shared/queue"
	"github.com/whittle-dev/whittle/shared/reaction"
)

// New returns the handler of a container. It sends nothing yet. The error names each setting that
// is missing or wrong.
func New(ctx context.Context, deps function.Deps) (*Handler, error) {
	settings := deps.Settings()
	h := &Handler{
		cluster: settings.Required("CLUSTER_NAME"), settings: reaction.ReadSettings(settings), now: deps.Clock(),
		queues: queues{
			provision: settings.Required("PROVISION_QUEUE_URL"), lifecycle: settings.Required("LIFECYCLE_QUEUE_URL"),
			disrupt: settings.Required("DISRUPT_QUEUE_URL"),
		},
	}
	h.metrics = deps.Recorder(settings, h.cluster)
	name := settings.Required("WATCH_FUNCTION")
	karpenter := function.KarpenterAccounts(settings)
	if err := settings.Err(); err != nil {
		return nil, err
	}
	loaded, err := deps.Configuration(ctx)
	if err != nil {
		return nil, err
	}
	connection := deps.Connection(loaded, h.cluster)
	connection.Karpenter = karpenter
	h.connect = connection.Client
	h.isStandby = func(ctx context.Context) (bool, error) {
		leader, err := connection.KarpenterLeader(ctx)
		return leader != nil, err
	}
	client := lambda.NewFromConfig(loaded)
	h.succeed = func(ctx context.Context, holder string) error {
		return reaction.Invoke(ctx, client, name, reaction.Request{Predecessor: holder})
	}
	h.sender = queue.NewSender(sqs.NewFromConfig(loaded), h.now)
	h.serve = function.Standby(connection, h.metrics, h.handle, nil)
	return h, nil
}

// Handle watches the cluster until there is no work for a while, the time is up, or another watch
// runs. During standby it does nothing. It returns an error if the watch could not begin.
func (h *Handler) Handle(ctx context.Context, request reaction.Request) (any, error) {
	return h.serve(ctx, request)
}
