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
	"github.com/whittle-dev/whittle/shared/publish"
	"github.com/whittle-dev/whittle/shared/queue"
	"github.com/whittle-dev/whittle/shared/reaction"
	"github.com/whittle-dev/whittle/shared/sight/deployed"
	"github.com/whittle-dev/whittle/shared/zonalshift"
)

func main() {
	handler, connection, err := setup(context.Background())
	function.Run(function.Standby(connection, handler.metrics, handler.handle, handler.aside), err)
}

func setup(ctx context.Context) (*handler, *function.Connection, error) {
	settings := function.NewSettings()
	h := &handler{
		cluster: settings.Required("CLUSTER_NAME"), provision: settings.Required("PROVISION_QUEUE_URL"),
		lifecycle: settings.Required("LIFECYCLE_QUEUE_URL"), dryRun: function.DryRun(), now: time.Now,
		settings: deployed.Settings(settings),
	}
	unchecked := settings.Enabled("DISABLE_DRY_RUN")  // Karpenter's setting, about the dry runs of launches
	expressions := settings.Enabled("NODE_CLASS_CEL") // Karpenter's gate NodeClassCEL
	watch := reaction.ReadSettings(settings)
	karpenter := function.KarpenterAccounts(settings)
	h.metrics = function.Recorder(settings, h.cluster)
	if err := settings.Err(); err != nil {
		return h, nil, err
	}
	loaded, err := function.Configuration(ctx)
	connection := function.NewConnection(loaded, h.cluster)
	connection.Karpenter = karpenter
	h.connection = connection
	h.fleet = fleet.NewLauncher(ec2.NewFromConfig(loaded), ec2.NewFromConfig(loaded), h.cluster)
	h.classes = classes.NewResolver(loaded, h.cluster)
	h.classes.DryRun = !unchecked && !h.dryRun // a dry run needs a launch template
	h.shifts = zonalshift.New(loaded, os.Getenv("ZONAL_SHIFT_CLUSTER_ARN"))
	h.classes.Expressions = expressions
	h.watch = reaction.NewStarter(loaded, watch)
	h.publisher = publish.New(loaded, time.Now)
	h.sender = queue.NewSender(sqs.NewFromConfig(loaded))
	return h, connection, err
}
