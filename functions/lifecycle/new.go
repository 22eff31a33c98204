package lifecycle

import (
	"context"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/api/legacy"
	"github.com/whittle-dev/whittle/shared/classes"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/shared/publish"
	"github.com/whittle-dev/whittle/shared/queue"
	"github.com/whittle-dev/whittle/shared/reaction"
	"github.com/whittle-dev/whittle/shared/zonalshift"
)

// Values of BINDING: who binds the pods that a node was launched for.
const (
	bindByPlan      = "plan"
	bindByScheduler = "scheduler"
)

// New returns the handler of a container. It sends nothing yet. The error names each setting that
// is missing or wrong.
func New(ctx context.Context, deps function.Deps) (*Handler, error) {
	settings := deps.Settings()
	h := &Handler{
		cluster: settings.Required("CLUSTER_NAME"), now: deps.Clock(),
		provision: settings.Required("PROVISION_QUEUE_URL"), lifecycle: settings.Required("LIFECYCLE_QUEUE_URL"),
	}
	h.expressions = settings.Enabled("NODE_CLASS_CEL") // Karpenter's gate NodeClassCEL
	h.binds = function.Choice(settings, "BINDING", bindByPlan, bindByScheduler) == bindByPlan
	h.old = legacy.Settings{
		ClusterName: h.cluster, InstanceProfile: settings.Optional("DEFAULT_INSTANCE_PROFILE"),
		Role: settings.Optional("NODE_ROLE"), WindowsRole: settings.Optional("WINDOWS_NODE_ROLE"),
	}
	commitments := settings.Enabled("COMMITMENTS")
	h.commitmentShare = share(settings)
	watch := reaction.ReadSettings(settings)
	karpenter := function.KarpenterAccounts(settings)
	h.metrics = deps.Recorder(settings, h.cluster)
	if err := settings.Err(); err != nil {
		return nil, err
	}
	loaded, err := deps.Configuration(ctx)
	if err != nil {
		return nil, err
	}
	connection := deps.Connection(loaded, h.cluster)
	connection.Karpenter = karpenter
	h.connect = func(ctx context.Context) (kubernetes, error) { return consistent(connection.Client(ctx)) }
	h.resolve = resolver(loaded, connection, h)
	h.shifts = shiftsOf(zonalshift.New(loaded, settings.Optional("ZONAL_SHIFT_CLUSTER_ARN"), h.now), connection)
	client := fleet.New(ec2.NewFromConfig(loaded), h.cluster)
	h.fleet = client
	if commitments {
		h.usage = client.OnDemand
	}
	h.leftovers = awsLeftovers{
		Client:   client,
		profiles: fleet.Profiles{IAM: fleet.NewIAM(loaded), Cluster: h.cluster, Region: loaded.Region},
	}
	h.sender = queue.NewSender(sqs.NewFromConfig(loaded), h.now)
	h.watch = reaction.NewStarter(loaded, watch)
	h.publisher = publish.New(loaded, settings.Optional("EVENT_BUS"), h.now, h.metrics.Denied)
	h.serve = function.Standby(connection, h.metrics, h.handle, h.aside)
	return h, nil
}

// share reads the part of each commitment that the cluster may use: all of it by default.
func share(settings *function.Settings) float64 {
	const name = "COMMITMENT_PERCENT"
	if settings.Optional(name) == "" {
		return 1
	}
	return function.Parsed(settings, name, "write a percentage from 0 to 100, such as 50", parsePercent)
}

func parsePercent(text string) (float64, error) {
	percent, err := strconv.ParseFloat(text, 64)
	if err == nil && !(percent >= 0 && percent <= 100) {
		err = strconv.ErrRange
	}
	return percent / 100, err
}

// Handle answers a batch of messages with one pass over all claims, nodes and instances. During
// standby it only keeps the messages. A message that cannot be read comes back alone. After an error
// all messages come back.
func (h *Handler) Handle(ctx context.Context, batch events.SQSEvent) (events.SQSEventResponse, error) {
	return h.serve(ctx, batch)
}

// shiftsOf returns a function that asks the source, and nil for none.
func shiftsOf(source *zonalshift.Source, connection *function.Connection) shifts {
	if source == nil {
		return nil
	}
	return func(ctx context.Context, announce bool) (map[string]time.Time, zonalshift.Change) {
		client, err := connection.Client(ctx)
		if err != nil {
			return nil, zonalshift.Change{} // the pass fails with the same error
		}
		if !announce {
			return source.Known(ctx, client), zonalshift.Change{}
		}
		return source.Refresh(ctx, client)
	}
}

// resolver returns a function that gives a class its status, by what EC2 returns now.
func resolver(config aws.Config, connection *function.Connection, h *Handler) resolve {
	reader := classes.NewResolver(config, h.cluster)
	reader.Expressions = h.expressions
	return func(ctx context.Context, class api.EC2NodeClass) (api.EC2NodeClass, error) {
		client, err := connection.Client(ctx)
		if err != nil {
			return class, err
		}
		return reader.Resolve(ctx, client, class, h.now())
	}
}
