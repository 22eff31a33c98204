package main

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/shared/queue"
)

func main() {
	handler, connection, err := setup(context.Background())
	function.Run(handler.retrying(function.Standby(connection, handler.metrics, handler.handle, handler.aside)), err)
}

func setup(ctx context.Context) (*handler, *function.Connection, error) {
	settings := function.NewSettings()
	h := &handler{
		cluster: settings.Required("CLUSTER_NAME"), interrupt: settings.Required("INTERRUPT_QUEUE_URL"),
		provision: settings.Required("PROVISION_QUEUE_URL"), lifecycle: settings.Required("LIFECYCLE_QUEUE_URL"),
		now: time.Now,
	}
	karpenter := function.KarpenterAccounts(settings)
	h.metrics = function.Recorder(settings, h.cluster)
	if err := settings.Err(); err != nil {
		return h, nil, err
	}
	loaded, err := function.Configuration(ctx)
	connection := function.NewConnection(loaded, h.cluster)
	connection.Karpenter = karpenter
	h.connect = func(ctx context.Context) (kubernetes, error) {
		client, err := connection.Client(ctx)
		return edge{client}, err
	}
	h.sender = queue.NewSender(sqs.NewFromConfig(loaded))
	return h, connection, err
}
