package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/pricing/types"
)

// priceListTime limits the reading of the price list. Without a route to the internet, the list
// never answers.
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
// bare metal. With an error it returns the prices before it. An invalid item costs only its own
// price.
func (h *handler) onDemandPrices(ctx context.Context) (map[string]float64, error) {
	if priceListRegion(h.region) == "" {
		return nil, fmt.Errorf("no price list serves region %s", h.region)
	}
	ctx, cancel := context.WithTimeout(ctx, priceListTime)
	defer cancel()
	prices := map[string]float64{}
	currency := currencyOf(h.region)
	var failed, unreadable error
	bad := 0
	for _, product := range []map[string]string{
		{"tenancy": "Shared", "productFamily": "Compute Instance"},
		{"tenancy": "Dedicated", "productFamily": "Compute Instance (bare metal)"},
	} {
		product["regionCode"], product["operatingSystem"], product["preInstalledSw"] = h.region, "Linux", "NA"
		product["capacitystatus"], product["marketoption"] = "Used", "OnDemand"
		var filters []types.Filter
		for field, value := range product {
			filters = append(
				filters, types.Filter{Type: types.FilterTypeTermMatch, Field: aws.String(field), Value: aws.String(value)},
			)
		}
		pages := pricing.NewGetProductsPaginator(
			h.pricing, &pricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2"), Filters: filters},
		)
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				// One of the two lists may fail without the other.
				failed = errors.Join(failed, fmt.Errorf("reading the price list of %s: %w", product["productFamily"], err))
				break
			}
			for _, text := range page.PriceList {
				name, price, err := parsePrice(text, currency)
				if err != nil {
					bad, unreadable = bad+1, err
				}
				if price > 0 {
					prices[name] = price
				}
			}
		}
	}
	if bad > 0 {
		slog.WarnContext(ctx, "ignoring invalid items of the price list", "items", bad, "last", unreadable)
	}
	if failed == nil && len(prices) == 0 {
		failed = fmt.Errorf("the price list has no price in %s for region %s", currency, h.region)
	}
	return prices, failed
}

// parsePrice reads one item of the price list. Without a price per hour in the currency it returns
// zero.
func parsePrice(text, currency string) (instanceType string, price float64, err error) {
	var item priceListItem
	if err := json.Unmarshal([]byte(text), &item); err != nil {
		return "", 0, fmt.Errorf("an item of the price list is not the JSON that is documented: %w", err)
	}
	for _, term := range item.Terms.OnDemand {
		for _, dimension := range term.PriceDimensions {
			amount, quoted := dimension.PricePerUnit[currency]
			if !quoted || dimension.Unit != "Hrs" {
				continue
			}
			parsed, valid := parseAmount(amount)
			if !valid {
				return "", 0, fmt.Errorf(
					"price list, product %s (%s): pricePerUnit.%s %q is not a price", item.Product.SKU,
					item.Product.Attributes.InstanceType, currency, amount,
				)
			}
			price = max(price, parsed)
		}
	}
	return item.Product.Attributes.InstanceType, price, nil
}

// parseAmount reads an amount of money that is neither negative nor infinite.
func parseAmount(text string) (float64, bool) {
	amount, err := strconv.ParseFloat(text, 64)
	return amount, err == nil && amount >= 0 && !math.IsInf(amount, 0)
}
