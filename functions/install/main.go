package main

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/whittle-dev/whittle/shared/function"
)

func main() {
	handler, err := setup(context.Background())
	function.Run(handler.answer, err)
}

func setup(ctx context.Context) (*handler, error) {
	settings := function.NewSettings()
	h := &handler{cluster: settings.Required("CLUSTER_NAME"), catalog: settings.Required("CATALOG_FUNCTION"),
		inVPC: settings.Enabled("FUNCTIONS_IN_VPC"), autoMode: settings.Enabled("ALLOW_AUTO_MODE")}
	if err := settings.Err(); err != nil {
		return h, err
	}
	loaded, err := function.Configuration(ctx)
	h.connection = function.NewConnection(loaded, h.cluster)
	h.lambda = lambda.NewFromConfig(loaded)
	return h, err
}
