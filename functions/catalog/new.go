package catalog

import (
	"context"
	"fmt"
	"strconv"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/commitment/file"
	"github.com/whittle-dev/whittle/shared/ec2catalog"
	"github.com/whittle-dev/whittle/shared/function"
)

// New returns the handler of a container. It sends nothing yet. The error names each setting that
// is missing or wrong.
func New(ctx context.Context, deps function.Deps) (*Handler, error) {
	settings := deps.Settings()
	name, nodes := settings.Required("CLUSTER_NAME"), readSettings(settings)
	h := &Handler{now: deps.Clock(), commitments: settings.Enabled("COMMITMENTS")}
	h.carried = function.Parsed(
		settings, "COMMITMENT_FILE", "deploy the stack again: the file is packed then", file.Unpack,
	)
	if err := settings.Err(); err != nil {
		return nil, err
	}
	loaded, err := deps.Configuration(ctx)
	if err != nil {
		return nil, err
	}
	h.region = loaded.Region
	h.connection = deps.Connection(loaded, name)
	if h.reader, err = ec2catalog.NewReader(loaded, nodes); err != nil {
		return nil, err
	}
	return h, nil
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
