package main

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/shared/queue"
	"github.com/whittle-dev/whittle/shared/reaction"
)

func main() {
	handler, connection, err := setup(context.Background())
	function.Run(function.Standby(connection, handler.metrics, handler.handle, nil), err)
}

func setup(ctx context.Context) (*handler, *function.Connection, error) {
	settings := function.NewSettings()
	h := &handler{
		cluster: settings.Required("CLUSTER_NAME"), settings: reaction.ReadSettings(settings), now: time.Now,
		queues: queues{
			provision: settings.Required("PROVISION_QUEUE_URL"), lifecycle: settings.Required("LIFECYCLE_QUEUE_URL"),
			disrupt: settings.Required("DISRUPT_QUEUE_URL"),
		},
	}
	h.metrics = function.Recorder(settings, h.cluster)
	name := settings.Required("WATCH_FUNCTION")
	karpenter := function.KarpenterAccounts(settings)
	if err := settings.Err(); err != nil {
		return h, nil, err
	}
	loaded, err := function.Configuration(ctx)
	connection := function.NewConnection(loaded, h.cluster)
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
	h.sender = queue.NewSender(sqs.NewFromConfig(loaded))
	return h, connection, err
}
