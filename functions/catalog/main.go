package main

import (
	"cmp"
	"context"
	"fmt"
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
	settings := function.NewSettings()
	h := &handler{cluster: settings.Required("CLUSTER_NAME"), now: time.Now}
	h.settings = readSettings(settings)
	err := settings.Err()
	if err != nil {
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
		// Nothing asks the price list where none serves the region.
		options.Region = cmp.Or(priceListRegion(loaded.Region), loaded.Region)
	})
	return h, err
}

// readSettings reads the settings that describe the cluster's nodes. The names are Karpenter's.
// Both variables are optional.
func readSettings(settings *function.Settings) catalog.Settings {
	return catalog.Settings{
		ReservedENIs: function.Parsed(settings, "RESERVED_ENIS",
			"write the number of network interfaces of each node that are not for pods, 1 with the VPC CNI's custom "+
				"networking", parseCount),
		VMMemoryOverheadPercent: function.Parsed(settings, "VM_MEMORY_OVERHEAD_PERCENT",
			fmt.Sprintf("write a fraction from 0 to less than 1, such as %v", catalog.DefaultVMMemoryOverheadPercent),
			parseFraction),
	}
}

func parseCount(text string) (int, error) {
	count, err := strconv.Atoi(text)
	if err == nil && count < 0 {
		err = strconv.ErrRange
	}
	return count, err
}

func parseFraction(text string) (*float64, error) {
	fraction, err := strconv.ParseFloat(text, 64)
	if err == nil && !(fraction >= 0 && fraction < 1) {
		err = strconv.ErrRange
	}
	return &fraction, err
}
