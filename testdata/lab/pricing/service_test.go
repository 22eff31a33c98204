package pricing_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awspricing "github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/pricing/types"
	"github.com/aws/smithy-go"

	"github.com/whittle-dev/whittle/shared/catalog/builtin"
	"github.com/whittle-dev/whittle/testdata/lab/pricing"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
	"github.com/whittle-dev/whittle/testdata/lab/wire/wiretest"
)

func newClient(t *testing.T) *awspricing.Client {
	t.Helper()
	service, err := pricing.New("us-east-1", nil)
	if err != nil {
		t.Fatal(err)
	}
	return awspricing.NewFromConfig(wiretest.Listen(t, wire.NewServer(), service))
}

func filters(pairs ...string) []types.Filter {
	var list []types.Filter
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, types.Filter{Type: types.FilterTypeTermMatch, Field: &pairs[i], Value: &pairs[i+1]})
	}
	return list
}

// item is the part of a price list item that autoscalers read.
type item struct {
	Product struct {
		Attributes struct{ InstanceType string }
	}
	Terms struct {
		OnDemand map[string]struct {
			PriceDimensions map[string]struct{ PricePerUnit struct{ USD string } }
		}
	}
}

func TestGetProductsGivesThePricesOfTheTable(t *testing.T) {
	client := newClient(t)
	prices := map[string]float64{}
	for pages := awspricing.NewGetProductsPaginator(client,
		&awspricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2"), Filters: filters(
			"regionCode", "us-east-1", "serviceCode", "AmazonEC2", "operatingSystem", "Linux", "tenancy", "Shared",
			"preInstalledSw", "NA",
			"capacitystatus", "Used", "marketoption", "OnDemand")}); pages.HasMorePages(); {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range page.PriceList {
			var i item
			if err := json.Unmarshal([]byte(text), &i); err != nil {
				t.Fatal(err)
			}
			for _, term := range i.Terms.OnDemand {
				for _, dimension := range term.PriceDimensions {
					price, err := strconv.ParseFloat(dimension.PricePerUnit.USD, 64)
					if err != nil {
						t.Fatal(err)
					}
					prices[i.Product.Attributes.InstanceType] = price
				}
			}
		}
	}
	table, err := builtin.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range table {
		if prices[want.Name] != want.OnDemandPrice {
			t.Errorf("%s costs %g, want %g", want.Name, prices[want.Name], want.OnDemandPrice)
		}
	}
}

func TestGetProductsRefuses(t *testing.T) {
	client := newClient(t)
	for _, c := range []struct {
		name, code string
		in         awspricing.GetProductsInput
	}{
		{"another service", "NotFoundException", awspricing.GetProductsInput{ServiceCode: aws.String("AmazonS3")}},
		{
			"an unknown attribute", "InvalidParameterException",
			awspricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2"), Filters: filters("colour", "red")},
		},
		{
			"a foreign token", "InvalidNextTokenException",
			awspricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2"), NextToken: aws.String("!")},
		},
		{
			"a page too large", "InvalidParameterException",
			awspricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2"), MaxResults: aws.Int32(101)},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := client.GetProducts(t.Context(), &c.in)
			var refused smithy.APIError
			if !errors.As(err, &refused) || refused.ErrorCode() != c.code {
				t.Errorf("error is %v, want the code %s", err, c.code)
			}
		})
	}
	none, err := client.GetProducts(t.Context(),
		&awspricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2"), Filters: filters("operatingSystem", "Windows")})
	if err != nil || len(none.PriceList) != 0 {
		t.Errorf("Windows gave %d products, %v", len(none.PriceList), err)
	}
}
