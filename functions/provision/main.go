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
	"github.com/whittle-dev/whittle/shared/queue"
)

func main() {
	handler, err := setup(context.Background())
	function.Run(handler.handle, err)
}

func setup(ctx context.Context) (*handler, error) {
	h := &handler{now: time.Now}
	err := function.Settings(map[string]*string{
		"CLUSTER_NAME": &h.cluster, "PROVISION_QUEUE_URL": &h.provision, "LIFECYCLE_QUEUE_URL": &h.lifecycle,
	})
	if err != nil {
		return h, err
	}
	if h.policies, err = readPolicies(os.Getenv); err != nil {
		return h, err
	}
	loaded, err := function.Configuration(ctx)
	h.connection = function.NewConnection(loaded, h.cluster)
	h.fleet = fleet.NewLauncher(ec2.NewFromConfig(loaded), ec2.NewFromConfig(loaded), h.cluster)
	h.classes = classes.NewResolver(loaded, h.cluster)
	h.classes.DryRun = os.Getenv("DISABLE_DRY_RUN") != "true" // Karpenter's setting
	h.sender = queue.NewSender(sqs.NewFromConfig(loaded))
	return h, err
}
