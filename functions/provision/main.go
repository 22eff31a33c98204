// Command provision gives pods that wait the nodes that they need.
package main

import (
	"context"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/whittle-dev/whittle/shared/classes"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/shared/metrics"
	"github.com/whittle-dev/whittle/shared/queue"
)

func main() {
	handler, connection, err := setup(context.Background())
	function.Run(function.StandBack(connection, handler.metrics, handler.handle), err)
}

func setup(ctx context.Context) (*handler, *function.Connection, error) {
	h := &handler{now: time.Now, dryRun: function.DryRun()}
	err := function.Settings(map[string]*string{
		"CLUSTER_NAME": &h.cluster, "PROVISION_QUEUE_URL": &h.provision, "LIFECYCLE_QUEUE_URL": &h.lifecycle,
	})
	if err == nil {
		h.policies, err = readPolicies(os.Getenv)
	}
	if err != nil {
		return h, nil, err
	}
	h.metrics = metrics.NewRecorder(h.cluster, os.Stdout, time.Now)
	loaded, err := function.Configuration(ctx)
	connection := function.NewConnection(loaded, h.cluster)
	h.connection = connection
	h.fleet = fleet.NewLauncher(ec2.NewFromConfig(loaded), ec2.NewFromConfig(loaded), h.cluster)
	h.classes = classes.NewResolver(loaded, h.cluster)
	h.classes.DryRun = os.Getenv("DISABLE_DRY_RUN") != "true" && !h.dryRun // Karpenter's setting; it takes a launch template
	h.sender = queue.NewSender(sqs.NewFromConfig(loaded))
	return h, connection, err
}
