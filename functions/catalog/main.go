package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/ec2catalog"
	"github.com/whittle-dev/whittle/shared/function"
)

func main() {
	handler, err := setup(context.Background())
	function.Run(handler.handle, err)
}

func setup(ctx context.Context) (*handler, error) {
	settings := function.NewSettings()
	name, nodes := settings.Required("CLUSTER_NAME"), readSettings(settings)
	h := &handler{now: time.Now}
	if err := settings.Err(); err != nil {
		return h, err
	}
	loaded, err := function.Configuration(ctx)
	if err != nil {
		return h, err
	}
	h.connection = function.NewConnection(loaded, name)
	h.reader, err = ec2catalog.NewReader(loaded, nodes)
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
