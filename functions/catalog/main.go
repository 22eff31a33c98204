// Command catalog reads EC2's offer (instance types, zones, prices) and keeps
// it in the cluster for the functions that plan.
package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/pricing"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/testdata/instancetypes"
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
	if h.settings, err = readSettings(os.Getenv); err != nil {
		return h, err
	}
	if h.supplement, err = instancetypes.ReadSupplement(); err != nil {
		return h, err
	}
	loaded, err := function.Configuration(ctx)
	h.region = loaded.Region
	h.connection = function.NewConnection(loaded, h.cluster)
	h.ec2 = ec2.NewFromConfig(loaded)
	h.pricing = pricing.NewFromConfig(loaded, func(options *pricing.Options) {
		// Where no price list serves the region it is not asked.
		options.Region = cmp.Or(priceListRegion(loaded.Region), loaded.Region)
	})
	return h, err
}

// readSettings reads what a person knows of the cluster's nodes, by Karpenter's names. Neither has to be given.
func readSettings(get func(string) string) (catalog.Settings, error) {
	var settings catalog.Settings
	if text := get("RESERVED_ENIS"); text != "" {
		count, err := strconv.Atoi(text)
		if err != nil || count < 0 {
			return settings, fmt.Errorf("RESERVED_ENIS is %q: write the number of network interfaces of each node that are not for pods, 1 with the VPC CNI's custom networking", text)
		}
		settings.ReservedENIs = count
	}
	if text := get("VM_MEMORY_OVERHEAD_PERCENT"); text != "" {
		overhead, err := strconv.ParseFloat(text, 64)
		if err != nil || !(overhead >= 0 && overhead < 1) {
			return settings, fmt.Errorf("VM_MEMORY_OVERHEAD_PERCENT is %q: write a fraction from 0 to less than 1, such as %v", text, catalog.DefaultVMMemoryOverheadPercent)
		}
		settings.VMMemoryOverheadPercent = &overhead
	}
	return settings, nil
}
