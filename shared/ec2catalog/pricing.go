package ec2catalog

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/pricing/types"

	"github.com/whittle-dev/whittle/shared/catalog"
)

// priceListTime limits the reading of the price list, and that of Savings Plans. Without a route to the internet, their
// endpoints never answer.
const priceListTime = 45 * time.Second

// priceListRegion returns the region of the price list that serves a region, or "" if none does.
// GovCloud, the European sovereign cloud and the isolated regions have no price list, and the other
// lists do not accept their credentials.
// https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/using-price-list-query-api.html
func priceListRegion(region string) string {
	switch prefix, _, _ := strings.Cut(region, "-"); prefix {
	case "cn":
		return "cn-northwest-1"
	case "ap":
		return "ap-south-1"
	case "eu":
		if strings.HasPrefix(region, "eu-isoe-") {
			return ""
		}
		return "eu-central-1"
	case "eusc":
		return ""
	}
	if strings.HasPrefix(region, "us-gov-") || strings.HasPrefix(region, "us-iso") {
		return ""
	}
	return "us-east-1"
}

// currencyOf returns the currency of a region's prices: CNY in China, otherwise USD.
func currencyOf(region string) string {
	if strings.HasPrefix(region, "cn-") {
		return "CNY"
	}
	return "USD"
}

// priceListItem holds the used fields of a product of the price list.
type priceListItem struct {
	Product struct {
		SKU        string `json:"sku"`
		Attributes struct {
			InstanceType string `json:"instanceType"`
			UsageType    string `json:"usagetype"`
		} `json:"attributes"`
	} `json:"product"`
	Terms struct {
		OnDemand map[string]struct {
			PriceDimensions map[string]struct {
				Unit         string            `json:"unit"`
				PricePerUnit map[string]string `json:"pricePerUnit"`
			} `json:"priceDimensions"`
		} `json:"OnDemand"`
	} `json:"terms"`
}

// onDemandPrices returns each type's price per hour for Linux, on shared hardware and on dedicated
// bare metal. The location is the region, or the group of a Local Zone. With an error it returns the prices
// before it. An invalid item costs only its own price. The context limits the time.
func (r *Reader) onDemandPrices(ctx context.Context, location string) (map[string]float64, error) {
	if priceListRegion(r.region) == "" {
		return nil, fmt.Errorf("no price list serves region %s", r.region)
	}
	prices := map[string]float64{}
	currency := currencyOf(r.region)
	var failed, unreadable error
	bad := 0
	for _, product := range []map[string]string{
		{"tenancy": "Shared", "productFamily": "Compute Instance"},
		{"tenancy": "Dedicated", "productFamily": "Compute Instance (bare metal)"},
	} {
		product["operatingSystem"], product["preInstalledSw"] = "Linux", "NA"
		product["capacitystatus"], product["marketoption"] = "Used", "OnDemand"
		err := r.products(ctx, location, product, func(text string) {
			name, price, err := parsePrice(text, currency)
			if err != nil {
				bad, unreadable = bad+1, err
			}
			if price > 0 {
				prices[name] = price
			}
		})
		// One of the two lists may fail without the other.
		failed = errors.Join(failed, err)
	}
	if bad > 0 {
		slog.WarnContext(ctx, "ignoring invalid items of the price list", "items", bad, "last", unreadable)
	}
	if failed == nil && len(prices) == 0 {
		failed = fmt.Errorf("the price list has no price in %s for %s", currency, location)
	}
	return prices, failed
}

// volumePrices returns the prices of EBS volumes. With an error it returns the prices before it. An
// invalid item costs only its own price.
func (r *Reader) volumePrices(ctx context.Context) (catalog.VolumePrices, error) {
	if priceListRegion(r.region) == "" {
		return nil, fmt.Errorf("no price list serves region %s", r.region)
	}
	prices := catalog.VolumePrices{}
	var failed, unreadable error
	for _, family := range []string{"Storage", "System Operation", "Provisioned Throughput"} {
		// Local zones have prices of their own.
		attributes := map[string]string{"productFamily": family, "locationType": "AWS Region"}
		err := r.products(ctx, r.region, attributes, func(text string) {
			usage, price, err := parseVolumePrice(text, currencyOf(r.region))
			if err != nil {
				unreadable = err
			}
			if price > 0 {
				prices[usage] = price
			}
		})
		failed = errors.Join(failed, err)
	}
	if unreadable != nil {
		slog.WarnContext(ctx, "ignoring invalid items of the price list", "last", unreadable)
	}
	if failed == nil && len(prices) == 0 {
		failed = fmt.Errorf("the price list has no price of a volume for region %s", r.region)
	}
	return prices, failed
}

// products calls read with each item of the price list of the location whose attributes have the values. The
// items before an error count.
func (r *Reader) products(
	ctx context.Context, location string, attributes map[string]string, read func(text string),
) error {
	filters := []types.Filter{{
		Type: types.FilterTypeTermMatch, Field: aws.String("regionCode"), Value: aws.String(location),
	}}
	for _, field := range slices.Sorted(maps.Keys(attributes)) {
		filters = append(filters, types.Filter{
			Type: types.FilterTypeTermMatch, Field: aws.String(field), Value: aws.String(attributes[field]),
		})
	}
	pages := pricing.NewGetProductsPaginator(
		r.pricing, &pricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2"), Filters: filters},
	)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("reading the price list of %s: %w", attributes["productFamily"], err)
		}
		for _, text := range page.PriceList {
			read(text)
		}
	}
	return nil
}

// parsePrice reads one item of the price list. Without a price per hour in the currency it returns
// zero.
func parsePrice(text, currency string) (instanceType string, price float64, err error) {
	item, err := parseItem(text)
	if err != nil {
		return "", 0, err
	}
	if price, _, err = item.price(currency, "Hrs"); err != nil {
		return "", 0, err
	}
	return item.Product.Attributes.InstanceType, price, nil
}

// parseVolumePrice reads one item of the price list. It returns the usage type and the unit price of
// catalog.VolumePrices, or zero for an item that is no volume.
func parseVolumePrice(text, currency string) (usage string, price float64, err error) {
	item, err := parseItem(text)
	if err != nil {
		return "", 0, err
	}
	_, usage, isEBS := strings.Cut(item.Product.Attributes.UsageType, "EBS:")
	if !isEBS || !strings.HasPrefix(usage, "Volume") {
		return "", 0, nil
	}
	price, unit, err := item.price(currency, "GB-Mo", "GB-month", "IOPS-Mo", "MiBps-mo", "GiBps-mo")
	if err != nil {
		return "", 0, err
	}
	if strings.EqualFold(unit, "GiBps-mo") {
		price /= 1024
	}
	return usage, price, nil
}

func parseItem(text string) (item priceListItem, err error) {
	if err := json.Unmarshal([]byte(text), &item); err != nil {
		return item, fmt.Errorf("an item of the price list is not the JSON that is documented: %w", err)
	}
	return item, nil
}

// price returns the highest price in the currency for one of the units, and the unit. It returns
// zero without one.
func (item *priceListItem) price(currency string, units ...string) (price float64, unit string, err error) {
	for _, term := range item.Terms.OnDemand {
		for _, dimension := range term.PriceDimensions {
			amount, quoted := dimension.PricePerUnit[currency]
			isUnit := func(unit string) bool { return strings.EqualFold(unit, dimension.Unit) }
			if !quoted || !slices.ContainsFunc(units, isUnit) {
				continue
			}
			parsed, valid := parseAmount(amount)
			if !valid {
				return 0, "", fmt.Errorf(
					"price list, product %s (%s): pricePerUnit.%s %q is not a price", item.Product.SKU,
					cmp.Or(item.Product.Attributes.InstanceType, item.Product.Attributes.UsageType), currency, amount,
				)
			}
			if parsed >= price {
				price, unit = parsed, dimension.Unit
			}
		}
	}
	return price, unit, nil
}

// parseAmount reads an amount of money that is neither negative nor infinite.
func parseAmount(text string) (float64, bool) {
	amount, err := strconv.ParseFloat(text, 64)
	return amount, err == nil && amount >= 0 && !math.IsInf(amount, 0)
}
