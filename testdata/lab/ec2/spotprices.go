package ec2

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/whittle-dev/whittle/shared/catalog/builtin"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// Only Linux has prices here; accounts without EC2-Classic see them under both names.
const productLinux, productLinuxVPC = "Linux/UNIX", "Linux/UNIX (Amazon VPC)"

// describeSpotPriceHistory returns each pool's price since the hour began. EC2 returns one entry
// for every change in the window and the one that was valid at its start. Prices here do not
// change, so each pool has one entry. Pages may have any size: Karpenter asks for 2,000.
func (s *Service) describeSpotPriceHistory(_ *wire.Call, in *describeSpotPriceHistoryRequest) (any, error) {
	all, err := matching(s.spotPrices(in), in.Filters, fields[spotPrice]{
		"availability-zone":    func(p spotPrice) []string { return one(p.AvailabilityZone) },
		"availability-zone-id": func(p spotPrice) []string { return one(p.AvailabilityZoneID) },
		"instance-type":        func(p spotPrice) []string { return one(p.InstanceType) },
		"timestamp":            func(p spotPrice) []string { return one(p.Timestamp) },
	}, nil)
	if err != nil {
		return nil, err
	}
	page, next, err := paginate(all, in.MaxResults, in.NextToken, pageBounds{Least: 1, Most: math.MaxInt, Default: 1000})
	if err != nil {
		return nil, err
	}
	return &describeSpotPriceHistoryResult{Prices: setOf(page), NextToken: next}, nil
}

// spotPrices returns the prices of the types, zones and products that the request names.
func (s *Service) spotPrices(in *describeSpotPriceHistoryRequest) []spotPrice {
	changed := timestamp(time.Now().Truncate(time.Hour))
	var all []spotPrice
	for i := range s.types {
		t := &s.types[i]
		if !slices.Contains(t.UsageClasses, "spot") || len(in.InstanceTypes) > 0 &&
			!slices.Contains(in.InstanceTypes, t.Name) {
			continue
		}
		for _, z := range s.vpc.zones {
			if !slices.Contains(t.Zones, z.Name) || in.AvailabilityZone != "" && in.AvailabilityZone != z.Name ||
				in.AvailabilityZoneID != "" && in.AvailabilityZoneID != z.ID {
				continue
			}
			price := builtin.SpotPrice(t.Name, z.Name, t.OnDemandPrice)
			if price <= 0 {
				continue
			}
			for _, product := range []string{productLinux, productLinuxVPC} {
				if len(in.ProductDescriptions) == 0 || slices.Contains(in.ProductDescriptions, product) {
					all = append(all, spotPrice{t.Name, product, strconv.FormatFloat(price, 'f', 6, 64), changed, z.Name, z.ID})
				}
			}
		}
	}
	return all
}
