package ec2catalog

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/savingsplans"
	"golang.org/x/sync/errgroup"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/builtin"
)

// Reader reads the offer of one region.
type Reader struct {
	region     string
	settings   catalog.Settings
	supplement builtin.Supplement
	ec2        *ec2.Client
	pricing    *pricing.Client
	savings    *savingsplans.Client
}

// NewReader returns a Reader for the configuration's region and credentials. The settings describe
// the nodes of a cluster, and become part of each snapshot.
func NewReader(config aws.Config, settings catalog.Settings) (*Reader, error) {
	supplement, err := builtin.ReadSupplement()
	if err != nil {
		return nil, err
	}
	return &Reader{
		region: config.Region, settings: settings, supplement: supplement, ec2: ec2.NewFromConfig(config),
		pricing: pricing.NewFromConfig(config, func(options *pricing.Options) {
			// Nothing asks the price list where none serves the region.
			options.Region = cmp.Or(priceListRegion(config.Region), config.Region)
		}),
		savings: savingsplans.NewFromConfig(config, func(options *savingsplans.Options) {
			options.Region = savingsPlansRegion(config.Region)
		}),
	}, nil
}

// Read reads EC2's offer as of a time. It fails without types, offerings or zones, and with less than
// half of the offerings of a previous snapshot that is not a day old: nodes of what EC2 no longer offers
// are replaced, so that an answer with little in it must not count as the truth. Prices that it
// cannot read keep their values in the previous snapshot, which may be nil, or are the built-in ones.
func (r *Reader) Read(ctx context.Context, now time.Time, previous *catalog.Catalog) (*catalog.Catalog, error) {
	// The calls do not depend on each other.
	snapshot := &catalog.Catalog{Time: now.UTC(), Region: r.region, Settings: r.settings}
	if currency := currencyOf(r.region); currency != "USD" {
		snapshot.Prices.Currency = currency
	}
	var zonesOf map[string][]string
	var localZones map[string]string
	var onDemand map[string]float64
	var spot map[string]map[string]float64
	var volumes catalog.VolumePrices
	var onDemandFailed, spotFailed, volumesFailed error
	group, parallel := errgroup.WithContext(ctx)
	group.Go(func() (err error) { snapshot.InstanceTypes, err = r.instanceTypes(parallel); return err })
	group.Go(func() (err error) { zonesOf, err = r.offerings(parallel); return err })
	group.Go(func() (err error) { snapshot.Zones, localZones, err = r.zones(parallel); return err })
	group.Go(func() error {
		limited, cancel := context.WithTimeout(parallel, priceListTime)
		defer cancel()
		onDemand, onDemandFailed = r.onDemandPrices(limited, r.region)
		volumes, volumesFailed = r.volumePrices(limited)
		return nil
	})
	group.Go(func() error { spot, spotFailed = r.spotPrices(parallel, now); return nil })
	err := group.Wait()
	if err == nil {
		err = whole(snapshot, zonesOf, previous)
	}
	if err != nil {
		return nil, fmt.Errorf("reading EC2's offer in %s: %w", r.region, err)
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
	r.setOnDemandPrices(ctx, snapshot, previous, onDemand, onDemandFailed)
	r.setLocalPrices(ctx, snapshot, previous, localZones)
	setSpotPrices(ctx, snapshot, previous, spot, spotFailed)
	setVolumePrices(ctx, snapshot, previous, volumes, volumesFailed)
	return snapshot, nil
}
