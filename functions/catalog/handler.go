package catalog

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/ec2catalog"
	"github.com/whittle-dev/whittle/shared/inventory"
)

// Handler is the function in one container.
type Handler struct {
	reader     *ec2catalog.Reader
	connection interface {
		Client(context.Context) (*cluster.Client, error)
	}
	now func() time.Time
}

// Summary is the function's answer and its log line.
type Summary struct {
	InstanceTypes int    `json:"instanceTypes"`
	Zones         int    `json:"zones"`
	Offerings     int    `json:"offerings"` // types by zones
	WithoutPrice  int    `json:"withoutPrice"`
	BuiltinPrices int    `json:"builtinPrices"` // types whose on-demand price is the built-in one
	SpotPrices    int    `json:"spotPrices"`
	Duration      string `json:"duration"`
}

// Handle reads EC2's offer and replaces the catalogue. A price that it cannot read keeps its last
// value, or is the built-in one: an old price is better than none.
func (h *Handler) Handle(ctx context.Context, _ any) (Summary, error) {
	start := h.now()
	client, err := h.connection.Client(ctx)
	if err != nil {
		return Summary{}, err
	}
	previous, err := inventory.Catalog(ctx, client)
	if err != nil && !errors.Is(err, inventory.ErrNoCatalog) {
		slog.WarnContext(ctx, "cannot read the last catalogue, writing a new one", "error", err)
	}
	snapshot, err := h.reader.Read(ctx, start, previous)
	if err != nil {
		return Summary{}, err
	}
	if err := inventory.PutCatalog(ctx, client, snapshot); err != nil {
		return Summary{}, err
	}
	summary := summarize(snapshot, h.now().Sub(start))
	slog.InfoContext(ctx, "read the catalogue", "instance-types", summary.InstanceTypes, "zones", summary.Zones,
		"offerings", summary.Offerings,
		"without-price", summary.WithoutPrice, "spot-prices", summary.SpotPrices, "prices", snapshot.PriceAges(h.now()),
		"duration", summary.Duration)
	return summary, nil
}

func summarize(snapshot *catalog.Catalog, took time.Duration) Summary {
	summary := Summary{
		InstanceTypes: len(snapshot.InstanceTypes), Zones: len(snapshot.Zones), BuiltinPrices: snapshot.Prices.Builtin,
		Duration: took.Round(time.Millisecond).String(),
	}
	for _, info := range snapshot.InstanceTypes {
		summary.Offerings += len(info.Zones)
		summary.SpotPrices += len(info.SpotPrices)
		if info.OnDemandPrice == 0 {
			summary.WithoutPrice++
		}
	}
	return summary
}
