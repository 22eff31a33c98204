package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/pricing/types"
)

// priceListRegion is the region whose endpoint of the price list serves a region.
// https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/using-price-list-query-api.html
func priceListRegion(region string) string {
	switch {
	case strings.HasPrefix(region, "cn-"):
		return "cn-northwest-1"
	case strings.HasPrefix(region, "ap-"):
		return "ap-south-1"
	case strings.HasPrefix(region, "eu-"):
		return "eu-central-1"
	}
	return "us-east-1"
}

// priceListItem is what is read of one product of the price list.
type priceListItem struct {
	Product struct {
		SKU        string `json:"sku"`
		Attributes struct {
			InstanceType string `json:"instanceType"`
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

// onDemandPrices gives the dollars an hour of each type for Linux, on shared
// hardware and on dedicated bare metal.
func (h *handler) onDemandPrices(ctx context.Context) (map[string]float64, error) {
	prices := map[string]float64{}
	for _, product := range []map[string]string{
		{"tenancy": "Shared", "productFamily": "Compute Instance"},
		{"tenancy": "Dedicated", "productFamily": "Compute Instance (bare metal)"},
	} {
		product["regionCode"], product["operatingSystem"], product["preInstalledSw"] = h.region, "Linux", "NA"
		product["capacitystatus"], product["marketoption"] = "Used", "OnDemand"
		var filters []types.Filter
		for field, value := range product {
			filters = append(filters, types.Filter{Type: types.FilterTypeTermMatch, Field: aws.String(field), Value: aws.String(value)})
		}
		pages := pricing.NewGetProductsPaginator(h.pricing, &pricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2"), Filters: filters})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, fmt.Errorf("reading the price list: %w", err)
			}
			for _, text := range page.PriceList {
				name, price, err := parsePrice(text)
				if err != nil {
					return nil, err
				}
				if price > 0 {
					prices[name] = price
				}
			}
		}
	}
	if len(prices) == 0 {
		return nil, fmt.Errorf("the price list has no price in US dollars for region %s", h.region)
	}
	return prices, nil
}

// parsePrice reads one item of the price list; an item without a price in
// dollars an hour gives zero.
func parsePrice(text string) (instanceType string, price float64, err error) {
	var item priceListItem
	if err := json.Unmarshal([]byte(text), &item); err != nil {
		return "", 0, fmt.Errorf("an item of the price list is not the JSON that is documented: %w", err)
	}
	for _, term := range item.Terms.OnDemand {
		for _, dimension := range term.PriceDimensions {
			dollars, quoted := dimension.PricePerUnit["USD"]
			if !quoted || dimension.Unit != "Hrs" {
				continue
			}
			parsed, valid := parseDollars(dollars)
			if !valid {
				return "", 0, fmt.Errorf("price list, product %s (%s): pricePerUnit.USD %q is not a price", item.Product.SKU, item.Product.Attributes.InstanceType, dollars)
			}
			price = max(price, parsed)
		}
	}
	return item.Product.Attributes.InstanceType, price, nil
}

// parseDollars reads an amount of money, which is neither negative nor infinite.
func parseDollars(text string) (float64, bool) {
	amount, err := strconv.ParseFloat(text, 64)
	return amount, err == nil && amount >= 0 && !math.IsInf(amount, 0)
}
