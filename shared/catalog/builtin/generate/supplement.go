package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// priceList are the on-demand prices of one region, by type.
type priceList struct {
	region, currency string
	// date is when the prices were read, such as 2026-07-06.
	date   string
	prices map[string]float64
}

// priceFiles are Karpenter's tables of prices, the variable in each, its regions and their
// currency.
var priceFiles = []struct {
	file, variable, currency string
	regions                  []string
}{
	{"zz_generated.pricing_aws.go", "InitialOnDemandPricesAWS", "USD", []string{"us-east-1"}},
	{
		"zz_generated.pricing_aws_us_gov.go", "InitialOnDemandPricesUSGov", "USD",
		[]string{"us-gov-east-1", "us-gov-west-1"},
	},
	{"zz_generated.pricing_aws_cn.go", "InitialOnDemandPricesCN", "CNY", []string{"cn-north-1"}},
}

// generatedAt is the line by which the tables tell their date.
var generatedAt = regexp.MustCompile(`(?m)^// generated at (\d{4}-\d{2}-\d{2})T`)

// priceLists reads every region's prices from Karpenter's module.
func priceLists(module string) ([]priceList, error) {
	var lists []priceList
	for _, source := range priceFiles {
		path := filepath.Join(module, "pkg/providers/pricing", source.file)
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", source.variable, err)
		}
		date := generatedAt.FindSubmatch(text)
		if date == nil {
			return nil, fmt.Errorf("reading %s: %s does not say when it was generated", source.variable, path)
		}
		for _, region := range source.regions {
			prices, err := onDemandPrices(path, source.variable, region)
			if err != nil {
				return nil, err
			}
			lists = append(lists, priceList{region: region, currency: source.currency, date: string(date[1]), prices: prices})
		}
	}
	return lists, nil
}

// supplement writes what DescribeInstanceTypes does not tell, of every type that any source names.
func supplement(s sources) ([]byte, error) {
	names := map[string]bool{}
	for name := range s.bandwidths {
		names[name] = true
	}
	for name, limits := range s.limits {
		if limits.branchInterfaces > 0 {
			names[name] = true
		}
	}
	header := []string{"name", "branch_interfaces", "network_baseline_mbps"}
	for _, list := range s.priceLists {
		header = append(header, list.region+" "+list.currency+" "+list.date)
		for name := range list.prices {
			names[name] = true
		}
	}
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	rows := [][]string{header}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		row := []string{name, integer(s.limits[name].branchInterfaces), decimal(s.bandwidths[name])}
		for _, list := range s.priceLists {
			row = append(row, decimal(list.prices[name]))
		}
		rows = append(rows, row)
	}
	if err := w.WriteAll(rows); err != nil {
		return nil, fmt.Errorf("writing the supplement: %w", err)
	}
	return text.Bytes(), nil
}
