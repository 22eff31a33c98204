package main

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/shared/queue"
)

func main() {
	handler, err := setup(context.Background())
	function.Run(handler.handle, err)
}

func setup(ctx context.Context) (*handler, error) {
	settings := function.NewSettings()
	h := &handler{
		cluster: settings.Required("CLUSTER_NAME"), provision: settings.Required("PROVISION_QUEUE_URL"),
		lifecycle: settings.Required("LIFECYCLE_QUEUE_URL"), disrupt: settings.Required("DISRUPT_QUEUE_URL"), now: time.Now,
	}
	interval := settings.Required("TICK_INTERVAL")
	err := settings.Err()
	if err != nil {
		return h, err
	}
	if h.interval, err = parseInterval(interval); err != nil {
		return h, err
	}
	loaded, err := function.Configuration(ctx)
	h.sender = queue.NewSender(sqs.NewFromConfig(loaded))
	return h, err
}
