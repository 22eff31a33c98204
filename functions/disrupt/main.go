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
	"github.com/whittle-dev/whittle/shared/zonalshift"
)

func main() {
	handler, connection, err := setup(context.Background())
	function.Run(function.Standby(connection, handler.metrics, handler.handle, nil), err)
}

func setup(ctx context.Context) (*handler, *function.Connection, error) {
	settings := function.NewSettings()
	h := &handler{
		cluster: settings.Required("CLUSTER_NAME"), now: time.Now, disrupt: settings.Required("DISRUPT_QUEUE_URL"),
		lifecycle: settings.Required("LIFECYCLE_QUEUE_URL"), provision: settings.Required("PROVISION_QUEUE_URL"),
	}
	preference := function.Choice(settings, "PREFERENCE_POLICY", plan.PreferencesRespected, plan.PreferencesIgnored)
	minValues := function.Choice(settings, "MIN_VALUES_POLICY", plan.MinValuesStrict, plan.MinValuesBestEffort)
	karpenter := function.KarpenterAccounts(settings)
	if err := settings.Err(); err != nil {
		return h, nil, err
	}
	h.metrics = metrics.NewRecorder(h.cluster, os.Stdout, time.Now)
	loaded, err := function.Configuration(ctx)
	connection := function.NewConnection(loaded, h.cluster)
	connection.Karpenter = karpenter
	shifts := zonalshift.New(loaded, os.Getenv("ZONAL_SHIFT_CLUSTER_ARN"))
	h.connect = func(ctx context.Context) (kubernetes, error) {
		client, err := connection.Client(ctx)
		return edge{Client: client, preference: preference, minValues: minValues, shifts: shifts}, err
	}
	h.sender = queue.NewSender(sqs.NewFromConfig(loaded))
	return h, connection, err
}
