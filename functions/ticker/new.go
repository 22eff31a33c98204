package ticker

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/shared/queue"
)

// New returns the handler of a container. It sends nothing yet. The error names each setting that
// is missing or wrong.
func New(ctx context.Context, deps function.Deps) (*Handler, error) {
	settings := deps.Settings()
	h := &Handler{
		cluster: settings.Required("CLUSTER_NAME"), provision: settings.Required("PROVISION_QUEUE_URL"),
		lifecycle: settings.Required("LIFECYCLE_QUEUE_URL"), disrupt: settings.Required("DISRUPT_QUEUE_URL"),
		now: deps.Clock(),
	}
	interval := settings.Required("TICK_INTERVAL")
	err := settings.Err()
	if err != nil {
		return nil, err
	}
	if h.interval, err = parseInterval(interval); err != nil {
		return nil, err
	}
	loaded, err := deps.Configuration(ctx)
	if err != nil {
		return nil, err
	}
	h.sender = queue.NewSender(sqs.NewFromConfig(loaded), h.now)
	return h, nil
}
