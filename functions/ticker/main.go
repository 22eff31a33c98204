// Command ticker is the clock: once a minute it sends the messages that wake the
// other functions during that minute.
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
	var interval string
	h := &handler{now: time.Now}
	err := function.Settings(map[string]*string{
		"CLUSTER_NAME": &h.cluster, "TICK_INTERVAL": &interval,
		"PROVISION_QUEUE_URL": &h.provision, "LIFECYCLE_QUEUE_URL": &h.lifecycle, "DISRUPT_QUEUE_URL": &h.disrupt,
	})
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
