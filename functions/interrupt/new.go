package interrupt

import (
	"context"
	"errors"
	"strings"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	ec2fleet "github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/shared/queue"
)

// New returns the handler of a container. It sends nothing yet. The error names each setting that
// is missing or wrong.
func New(ctx context.Context, deps function.Deps) (*Handler, error) {
	settings := deps.Settings()
	h := &Handler{
		cluster: settings.Required("CLUSTER_NAME"), interrupt: settings.Required("INTERRUPT_QUEUE_URL"),
		warnings:  settings.Required("WARNINGS_QUEUE_URL"),
		provision: settings.Required("PROVISION_QUEUE_URL"), lifecycle: settings.Required("LIFECYCLE_QUEUE_URL"),
		now: deps.Clock(),
	}
	h.account = accountOf(settings, "INTERRUPT_QUEUE_URL")
	karpenter := function.KarpenterAccounts(settings)
	h.metrics = deps.Recorder(settings, h.cluster)
	if err := settings.Err(); err != nil {
		return nil, err
	}
	loaded, err := deps.Configuration(ctx)
	if err != nil {
		return nil, err
	}
	h.region = loaded.Region
	h.fleet = ec2fleet.New(ec2.NewFromConfig(loaded), h.cluster)
	connection := deps.Connection(loaded, h.cluster)
	connection.Karpenter = karpenter
	h.connect = func(ctx context.Context) (kubernetes, error) {
		client, err := connection.Client(ctx)
		return edge{client}, err
	}
	h.sender = queue.NewSender(sqs.NewFromConfig(loaded), h.now)
	h.serve = h.retrying(h.answering(h.ordering(function.Standby(connection, h.metrics, h.handle, h.aside))))
	return h, nil
}

// accountOf returns the account in a queue's URL, whose path is the account's id and the queue's
// name.
func accountOf(settings *function.Settings, name string) string {
	return function.Parsed(settings, name, "set it to the URL of a queue: https://HOST/ACCOUNT/NAME",
		func(text string) (string, error) {
			parts := strings.Split(text, "/")
			if len(parts) < 5 || strings.Trim(parts[len(parts)-2], "0123456789") != "" || len(parts[len(parts)-2]) != 12 {
				return "", errors.New("no account")
			}
			return parts[len(parts)-2], nil
		})
}

// Handle answers a batch of EventBridge's events. Messages that failed come back soon, and during
// standby all messages that may matter after it. Handle returns no error.
func (h *Handler) Handle(ctx context.Context, batch lambdaevents.SQSEvent) (lambdaevents.SQSEventResponse, error) {
	return h.serve(ctx, batch)
}
