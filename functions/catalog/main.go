// Command catalog reads EC2's offer (instance types, zones, prices) and keeps
// it in the cluster for the functions that plan.
package main

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/pricing"

	"github.com/whittle-dev/whittle/shared/function"
)

func main() {
	handler, err := setup(context.Background())
	function.Run(handler.handle, err)
}

func setup(ctx context.Context) (*handler, error) {
	h := &handler{now: time.Now}
	err := function.Settings(map[string]*string{"CLUSTER_NAME": &h.cluster})
	if err != nil {
		return h, err
	}
	loaded, err := function.Configuration(ctx)
	h.region = loaded.Region
	h.connection = function.NewConnection(loaded, h.cluster)
	h.ec2 = ec2.NewFromConfig(loaded)
	h.pricing = pricing.NewFromConfig(loaded, func(options *pricing.Options) {
		options.Region = priceListRegion(loaded.Region)
	})
	return h, err
}
