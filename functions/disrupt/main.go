// Command disrupt takes away nodes that are not needed, and replaces those that AWS is
// about to take.
package main

import (
	"context"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/shared/metrics"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/queue"
)

func main() {
	handler, connection, err := setup(context.Background())
	function.Run(function.StandBack(connection, handler.metrics, handler.handle), err)
}

func setup(ctx context.Context) (*handler, *function.Connection, error) {
	h := &handler{now: time.Now}
	err := function.Settings(map[string]*string{
		"CLUSTER_NAME": &h.cluster, "DISRUPT_QUEUE_URL": &h.disrupt, "LIFECYCLE_QUEUE_URL": &h.lifecycle, "PROVISION_QUEUE_URL": &h.provision,
	})
	if err != nil {
		return h, nil, err
	}
	h.metrics = metrics.NewRecorder(h.cluster, os.Stdout, time.Now)
	loaded, err := function.Configuration(ctx)
	connection := function.NewConnection(loaded, h.cluster)
	h.connect = func(ctx context.Context) (kubernetes, error) {
		client, err := connection.Client(ctx)
		return edge{
			Client: client, preference: plan.PreferencePolicy(os.Getenv("PREFERENCE_POLICY")), minValues: plan.MinValuesPolicy(os.Getenv("MIN_VALUES_POLICY")),
		}, err
	}
	h.sender = queue.NewSender(sqs.NewFromConfig(loaded))
	return h, connection, err
}
