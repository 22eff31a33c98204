package ec2catalog

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/builtin"
)

// linux is the product whose spot prices count.
const linux = "Linux/UNIX"

// builtinRegion is the region whose built-in prices replace missing ones. Relative prices hardly
// differ between regions.
const builtinRegion = "us-east-1"

// setOnDemandPrices sets each type's on-demand price: from the price list, otherwise from the last
// catalogue, otherwise the built-in one.
func (r *Reader) setOnDemandPrices(
	ctx context.Context, snapshot, previous *catalog.Catalog, read map[string]float64, failed error,
) {
	before := map[string]float64{}
	if previous != nil {
		for _, info := range previous.InstanceTypes {
			if !info.BuiltinPrice {
				before[info.InstanceType] = info.OnDemandPrice
			}
		}
		snapshot.Prices.OnDemandTime = previous.Prices.OnDemandTime
	}
	if failed == nil {
		snapshot.Prices.OnDemandTime = snapshot.Time
	}
	region, list := r.builtinPrices()
	kept := 0
	for i := range snapshot.InstanceTypes {
		info := &snapshot.InstanceTypes[i]
		name := info.InstanceType
		switch {
		case read[name] > 0:
			info.OnDemandPrice = read[name]
		case before[name] > 0:
			info.OnDemandPrice = before[name]
			kept++
		case list.PerHour[name] > 0:
			info.OnDemandPrice, info.BuiltinPrice = list.PerHour[name], true
			snapshot.Prices.Builtin++
		}
	}
	if snapshot.Prices.Builtin > 0 {
		snapshot.Prices.BuiltinRegion, snapshot.Prices.BuiltinTime = region, list.Date
	}
	switch {
	case failed != nil:
		slog.ErrorContext(ctx, "cannot read all on-demand prices: using the last and the built-in ones", "read",
			len(read), "of-before", kept,
			"read-before", snapshot.Prices.OnDemandTime, "built-in", snapshot.Prices.Builtin,
			"built-in-region", region, "built-in-date", list.Date.Format(time.DateOnly), "error", failed)
	case snapshot.Prices.Builtin > 0:
		slog.WarnContext(ctx, "the price list lacks instance types: using built-in prices", "instance-types",
			snapshot.Prices.Builtin,
			"built-in-region", region, "built-in-date", list.Date.Format(time.DateOnly))
	}
}

// localZone is EC2's word for the type of a Local Zone.
const localZone = "local-zone"

// setLocalPrices sets the on-demand prices in Local Zones, which the price list has under their group: from
// the price list, otherwise from the last catalogue. Otherwise the region's prices count there.
func (r *Reader) setLocalPrices(
	ctx context.Context, snapshot, previous *catalog.Catalog, groupOf map[string]string,
) {
	byGroup := map[string]map[string]float64{}
	limited, cancel := context.WithTimeout(ctx, priceListTime)
	defer cancel()
	for _, group := range groupOf {
		if _, read := byGroup[group]; read {
			continue
		}
		prices, err := r.onDemandPrices(limited, group)
		if err != nil {
			slog.WarnContext(ctx, "cannot read all on-demand prices of a Local Zone: using the last ones, or the region's",
				"zone-group", group, "read", len(prices), "error", err)
		}
		byGroup[group] = prices
	}
	before := pricesBefore(previous)
	for i := range snapshot.InstanceTypes {
		info := &snapshot.InstanceTypes[i]
		for _, zone := range info.Zones {
			group, local := groupOf[zone]
			price := cmp.Or(byGroup[group][info.InstanceType], before[info.InstanceType][zone])
			if !local || price == 0 {
				continue
			}
			if info.ZonePrices == nil {
				info.ZonePrices = map[string]float64{}
			}
			info.ZonePrices[zone] = price
		}
	}
}

// pricesBefore are the last catalogue's prices in Local Zones, by type and zone.
func pricesBefore(previous *catalog.Catalog) map[string]map[string]float64 {
	before := map[string]map[string]float64{}
	if previous != nil {
		for _, info := range previous.InstanceTypes {
			before[info.InstanceType] = info.ZonePrices
		}
	}
	return before
}

// builtinPrices returns the prices of the region, of China's other region, or of builtinRegion.
func (r *Reader) builtinPrices() (region string, list builtin.PriceList) {
	region = r.region
	if _, ok := r.supplement.Prices[region]; !ok {
		region = builtinRegion
		if currencyOf(r.region) == "CNY" {
			region = "cn-north-1"
		}
	}
	return region, r.supplement.Prices[region]
}

// setSpotPrices sets each type's spot prices. After a complete read, a zone without a price has no
// offering. After a partial read, the last prices fill the gaps.
func setSpotPrices(
	ctx context.Context, snapshot, previous *catalog.Catalog, read map[string]map[string]float64, failed error,
) {
	before := map[string]map[string]float64{}
	if failed == nil {
		snapshot.SpotPriceTime = snapshot.Time
	} else if previous != nil {
		snapshot.SpotPriceTime = previous.SpotPriceTime
		for _, info := range previous.InstanceTypes {
			before[info.InstanceType] = info.SpotPrices
		}
	}
	for i := range snapshot.InstanceTypes {
		info := &snapshot.InstanceTypes[i]
		info.SpotPrices = read[info.InstanceType]
		for zone, price := range before[info.InstanceType] {
			if _, known := info.SpotPrices[zone]; known {
				continue
			}
			if info.SpotPrices == nil {
				info.SpotPrices = map[string]float64{}
			}
			info.SpotPrices[zone] = price
		}
	}
	if failed != nil {
		slog.ErrorContext(
			ctx, "cannot read all spot prices: using the last ones for the rest", "read", len(read), "read-before",
			snapshot.SpotPriceTime, "error", failed,
		)
	}
}

// setVolumePrices sets the prices of volumes: from the price list, otherwise from the last
// catalogue. Readers use the built-in ones for what is missing then.
func setVolumePrices(
	ctx context.Context, snapshot, previous *catalog.Catalog, read catalog.VolumePrices, failed error,
) {
	snapshot.VolumePrices = catalog.VolumePrices{}
	if previous != nil {
		maps.Copy(snapshot.VolumePrices, previous.VolumePrices)
	}
	maps.Copy(snapshot.VolumePrices, read)
	if failed != nil {
		slog.ErrorContext(ctx, "cannot read all prices of volumes: using the last and the built-in ones for the rest",
			"read", len(read), "error", failed)
	}
}

// spotPrices returns the newest price per hour by type and zone. With an error it returns the
// prices before it. It ignores entries without a valid price.
func (r *Reader) spotPrices(ctx context.Context, now time.Time) (map[string]map[string]float64, error) {
	// With now as the start time, EC2 returns the current price only, once for each type and zone.
	pages := ec2.NewDescribeSpotPriceHistoryPaginator(r.ec2, &ec2.DescribeSpotPriceHistoryInput{
		ProductDescriptions: []string{linux}, StartTime: aws.Time(now), MaxResults: aws.Int32(1000),
	})
	prices := map[string]map[string]float64{}
	newest := map[string]time.Time{}
	bad := 0
	defer func() {
		if bad > 0 {
			slog.WarnContext(ctx, "ignoring entries of the spot price history without a valid price", "entries", bad)
		}
	}()
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return prices, fmt.Errorf("listing spot prices: %w", err)
		}
		for _, entry := range page.SpotPriceHistory {
			name, zone := string(entry.InstanceType), aws.ToString(entry.AvailabilityZone)
			price, valid := parseAmount(aws.ToString(entry.SpotPrice))
			if !valid || price == 0 || name == "" || zone == "" {
				bad++
				continue
			}
			key, at := name+"/"+zone, aws.ToTime(entry.Timestamp)
			if at.Before(newest[key]) {
				continue
			}
			newest[key] = at
			if prices[name] == nil {
				prices[name] = map[string]float64{}
			}
			prices[name][zone] = price
		}
	}
	if len(prices) == 0 {
		return nil, fmt.Errorf("listing spot prices: EC2 knows none in region %s", r.region)
	}
	return prices, nil
}
