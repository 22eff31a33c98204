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
)

type handler struct {
	cluster, region string
	connection      interface {
		Client(context.Context) (*cluster.Client, error)
	}
	ec2     *ec2.Client
	pricing *pricing.Client
	now     func() time.Time
}

// Summary is what a run read: the function's answer and its log line.
type Summary struct {
	InstanceTypes int    `json:"instanceTypes"`
	Zones         int    `json:"zones"`
	Offerings     int    `json:"offerings"` // types by zones
	WithoutPrice  int    `json:"withoutPrice"`
	SpotPrices    int    `json:"spotPrices"`
	Duration      string `json:"duration"`
}

// handle reads EC2's offer and replaces the catalogue. Prices that cannot be
// read now stay what they were: an old price plans better than none.
func (h *handler) handle(ctx context.Context, _ any) (Summary, error) {
	start := h.now()
	client, err := h.connection.Client(ctx)
	if err != nil {
		return Summary{}, err
	}
	previous, err := inventory.Catalog(ctx, client)
	if err != nil && !errors.Is(err, inventory.ErrNoCatalog) {
		slog.WarnContext(ctx, "the catalogue cannot be read and is made anew", "error", err)
	}
	snapshot, err := h.read(ctx, previous)
	if err != nil {
		return Summary{}, err
	}
	if err := inventory.PutCatalog(ctx, client, snapshot); err != nil {
		return Summary{}, err
	}
	summary := summarize(snapshot, h.now().Sub(start))
	slog.InfoContext(ctx, "read the catalogue", "instance-types", summary.InstanceTypes, "zones", summary.Zones, "offerings", summary.Offerings,
		"without-price", summary.WithoutPrice, "spot-prices", summary.SpotPrices, "duration", summary.Duration)
	return summary, nil
}

// read makes the calls that do not wait for each other at the same time.
func (h *handler) read(ctx context.Context, previous *catalog.Snapshot) (*catalog.Snapshot, error) {
	snapshot := &catalog.Snapshot{Time: h.now().UTC(), Region: h.region}
	var zonesOf map[string][]string
	var onDemand map[string]float64
	var spot map[string]map[string]float64
	group, parallel := errgroup.WithContext(ctx)
	group.Go(func() (err error) { snapshot.InstanceTypes, err = h.instanceTypes(parallel); return err })
	group.Go(func() (err error) { zonesOf, err = h.offerings(parallel); return err })
	group.Go(func() (err error) { snapshot.Zones, err = h.zones(parallel); return err })
	group.Go(func() error {
		prices, err := h.onDemandPrices(parallel)
		if err != nil && previous == nil {
			return err
		}
		if err != nil {
			slog.ErrorContext(ctx, "on-demand prices stay what they were", "of", previous.Time, "error", err)
			prices = onDemandOf(previous)
		}
		onDemand = prices
		return nil
	})
	group.Go(func() error {
		prices, err := h.spotPrices(parallel)
		snapshot.SpotPriceTime = snapshot.Time
		if err != nil && previous != nil {
			slog.ErrorContext(ctx, "spot prices stay what they were", "of", previous.SpotPriceTime, "error", err)
			prices, snapshot.SpotPriceTime, err = spotOf(previous), previous.SpotPriceTime, nil
		}
		spot = prices
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("reading EC2's offer in %s: %w", h.region, err)
	}
	for i := range snapshot.InstanceTypes {
		info := &snapshot.InstanceTypes[i]
		info.Zones = zonesOf[info.InstanceType]
		slices.Sort(info.Zones)
		info.OnDemandPrice = onDemand[info.InstanceType]
		info.SpotPrices = spot[info.InstanceType]
	}
	slices.SortFunc(snapshot.InstanceTypes, func(a, b catalog.InstanceTypeInfo) int { return strings.Compare(a.InstanceType, b.InstanceType) })
	return snapshot, nil
}

func onDemandOf(snapshot *catalog.Snapshot) map[string]float64 {
	prices := map[string]float64{}
	for _, info := range snapshot.InstanceTypes {
		prices[info.InstanceType] = info.OnDemandPrice
	}
	return prices
}

func spotOf(snapshot *catalog.Snapshot) map[string]map[string]float64 {
	prices := map[string]map[string]float64{}
	for _, info := range snapshot.InstanceTypes {
		prices[info.InstanceType] = info.SpotPrices
	}
	return prices
}

func summarize(snapshot *catalog.Snapshot, took time.Duration) Summary {
	summary := Summary{InstanceTypes: len(snapshot.InstanceTypes), Zones: len(snapshot.Zones), Duration: took.Round(time.Millisecond).String()}
	for _, info := range snapshot.InstanceTypes {
		summary.Offerings += len(info.Zones)
		summary.SpotPrices += len(info.SpotPrices)
		if info.OnDemandPrice == 0 {
			summary.WithoutPrice++
		}
	}
	return summary
}
