package catalog

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/commitment"
	"github.com/whittle-dev/whittle/shared/commitment/file"
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
	// commitments is set where Reserved Instances and Savings Plans count in prices.
	commitments bool
	// carried are the commitments of a file; nil where the account's count. region is where they count.
	carried *file.Packed
	region  string
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
	if h.commitments {
		if err := h.readCommitments(ctx, client, snapshot); err != nil {
			return Summary{}, err
		}
	}
	summary := summarize(snapshot, h.now().Sub(start))
	slog.InfoContext(ctx, "read the catalogue", "instance-types", summary.InstanceTypes, "zones", summary.Zones,
		"offerings", summary.Offerings,
		"without-price", summary.WithoutPrice, "spot-prices", summary.SpotPrices, "prices", snapshot.PriceAges(h.now()),
		"duration", summary.Duration)
	return summary, nil
}

// readCommitments replaces the account's commitments. What cannot be read keeps its last value: a commitment ends on a
// day that is known.
func (h *Handler) readCommitments(ctx context.Context, store inventory.Store, snapshot *catalog.Catalog) error {
	previous, err := inventory.CommitmentFacts(ctx, store)
	if err != nil {
		return err
	}
	var facts commitment.Facts
	if h.carried == nil {
		if facts, err = h.reader.Commitments(ctx, snapshot.Time, previous); err != nil {
			slog.WarnContext(ctx, "cannot read all commitments, those of the last run count", "error", err)
		}
	} else {
		facts = h.ofFile(ctx, snapshot)
	}
	facts.OnDemand = map[string]float64{}
	for _, info := range snapshot.InstanceTypes {
		if info.OnDemandPrice > 0 {
			facts.OnDemand[info.InstanceType] = info.OnDemandPrice
		}
	}
	slog.InfoContext(ctx, "read the commitments", "reserved", len(facts.Reserved), "plans", len(facts.Plans))
	return inventory.PutCommitmentFacts(ctx, store, facts)
}

// ofFile are the commitments of the deployment's file.
func (h *Handler) ofFile(ctx context.Context, snapshot *catalog.Catalog) commitment.Facts {
	if of := h.carried.Region(); of != "" && of != h.region {
		slog.WarnContext(ctx, "the file of commitments has rates of another region, and its plans do not count",
			"of", of, "region", h.region)
	}
	types := make([]string, len(snapshot.InstanceTypes))
	for i := range snapshot.InstanceTypes {
		types[i] = snapshot.InstanceTypes[i].InstanceType
	}
	return h.carried.Facts(h.region, types, snapshot.Time)
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
