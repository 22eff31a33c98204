package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"golang.org/x/sync/errgroup"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/testdata/instancetypes"
)

type handler struct {
	cluster, region string
	settings        catalog.Settings
	supplement      instancetypes.Supplement
	connection      interface {
		Client(context.Context) (*cluster.Client, error)
	}
	ec2     *ec2.Client
	pricing *pricing.Client
	now     func() time.Time
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

// handle reads EC2's offer and replaces the catalogue. A price that it cannot read keeps its last
// value, or is the built-in one: an old price is better than none.
func (h *handler) handle(ctx context.Context, _ any) (Summary, error) {
	start := h.now()
	client, err := h.connection.Client(ctx)
	if err != nil {
		return Summary{}, err
	}
	previous, err := inventory.Catalog(ctx, client)
	if err != nil && !errors.Is(err, inventory.ErrNoCatalog) {
		slog.WarnContext(ctx, "cannot read the last catalogue, writing a new one", "error", err)
	}
	snapshot, err := h.read(ctx, previous)
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

// read makes independent calls at the same time. It fails without types, offerings or zones.
// Missing prices keep their last values, or are the built-in ones.
func (h *handler) read(ctx context.Context, previous *catalog.Snapshot) (*catalog.Snapshot, error) {
	snapshot := &catalog.Snapshot{Time: h.now().UTC(), Region: h.region, Settings: h.settings}
	if currency := currencyOf(h.region); currency != "USD" {
		snapshot.Prices.Currency = currency
	}
	var zonesOf map[string][]string
	var onDemand map[string]float64
	var spot map[string]map[string]float64
	var volumes catalog.VolumePrices
	var onDemandFailed, spotFailed, volumesFailed error
	group, parallel := errgroup.WithContext(ctx)
	group.Go(func() (err error) { snapshot.InstanceTypes, err = h.instanceTypes(parallel); return err })
	group.Go(func() (err error) { zonesOf, err = h.offerings(parallel); return err })
	group.Go(func() (err error) { snapshot.Zones, err = h.zones(parallel); return err })
	group.Go(func() error {
		limited, cancel := context.WithTimeout(parallel, priceListTime)
		defer cancel()
		onDemand, onDemandFailed = h.onDemandPrices(limited)
		volumes, volumesFailed = h.volumePrices(limited)
		return nil
	})
	group.Go(func() error { spot, spotFailed = h.spotPrices(parallel); return nil })
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("reading EC2's offer in %s: %w", h.region, err)
	}
	for i := range snapshot.InstanceTypes {
		info := &snapshot.InstanceTypes[i]
		info.Zones = zonesOf[info.InstanceType]
		slices.Sort(info.Zones)
	}
	slices.SortFunc(
		snapshot.InstanceTypes,
		func(a, b catalog.InstanceTypeInfo) int { return strings.Compare(a.InstanceType, b.InstanceType) },
	)
	h.setOnDemandPrices(ctx, snapshot, previous, onDemand, onDemandFailed)
	setSpotPrices(ctx, snapshot, previous, spot, spotFailed)
	setVolumePrices(ctx, snapshot, previous, volumes, volumesFailed)
	return snapshot, nil
}

func summarize(snapshot *catalog.Snapshot, took time.Duration) Summary {
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
