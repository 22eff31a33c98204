package install

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/whittle-dev/whittle/functions/install/manifests"
	"github.com/whittle-dev/whittle/shared/alarm"
	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/shared/zonalshift"
)

// New returns the handler of a container. It sends nothing yet. The error names each setting that
// is missing or wrong.
func New(ctx context.Context, deps function.Deps) (*Handler, error) {
	settings := deps.Settings()
	h := &Handler{
		cluster: settings.Required("CLUSTER_NAME"), catalog: settings.Required("CATALOG_FUNCTION"),
		inVPC: settings.Enabled("FUNCTIONS_IN_VPC"), autoMode: settings.Enabled("ALLOW_AUTO_MODE"),
		dryRun:    settings.Enabled("FUNCTIONS_DRY_RUN"),
		admission: function.Choice(settings, "ADMISSION", manifests.ModeAudit, manifests.ModeDeny, manifests.ModeOff),
		now:       deps.Clock(), transport: deps.Transport,
	}
	alarms := function.Parsed(settings, "FREEZE_ALARMS", `write a list such as ["errors","latency=nodepool/batch"]`,
		alarm.Parse)
	tagged := settings.Enabled("FREEZE_TAGGED_ALARMS")
	if err := settings.Err(); err != nil {
		return nil, err
	}
	loaded, err := deps.Configuration(ctx)
	if err != nil {
		return nil, err
	}
	h.endpoint = aws.ToString(loaded.BaseEndpoint)
	h.connection = deps.Connection(loaded, h.cluster)
	h.lambda, h.events, h.sqs = lambda.NewFromConfig(loaded), eventbridge.NewFromConfig(loaded), sqs.NewFromConfig(loaded)
	h.alarms = alarm.New(loaded, alarm.Settings{Watched: alarms, Tagged: tagged}, h.now)
	h.shifts = zonalshift.New(loaded, settings.Optional("ZONAL_SHIFT_CLUSTER_ARN"), h.now)
	return h, nil
}
