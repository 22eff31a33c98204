// Command generate makes instance-types.csv from pinned releases of public projects that publish
// facts about EC2 instance types:
//
//   - the Python package moto carries the answers of DescribeInstanceTypes and
//     DescribeInstanceTypeOfferings (sizes, devices, storage, zones);
//   - the Go module amazon-vpc-resource-controller-k8s carries the limits of network interfaces, among
//     them those that no API tells;
//   - the Go module karpenter-provider-aws carries on-demand prices of some regions and the
//     documented network bandwidths.
//
// Beside the table it writes supplement.csv: what EC2 itself does not tell, and prices, of every
// type that a source names.
//
// It needs python3 with pip and the go command on the path, and a package index and a module proxy
// that they can reach. A type that lacks a mandatory fact, or on which two sources disagree, is
// left out and reported on standard error.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	output := flag.String("output", "../instance-types.csv", "the file to write")
	beside := flag.String("supplement", "../supplement.csv", "the file to write the supplement to")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *output, *beside); err != nil {
		fmt.Fprintln(os.Stderr, "making the table of instance types:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, output, beside string) error {
	sources, err := readSources(ctx)
	if err != nil {
		return err
	}
	rows, leftOut := join(sources)
	text, err := encode(rows)
	if err != nil {
		return err
	}
	if err := os.WriteFile(output, text, 0o644); err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	fmt.Fprintf(os.Stderr, "%d instance types, %d bytes, in %s\n", len(rows), len(text), output)
	fmt.Fprint(os.Stderr, report(leftOut))
	if text, err = supplement(sources); err != nil {
		return err
	}
	if err := os.WriteFile(beside, text, 0o644); err != nil {
		return fmt.Errorf("writing the supplement: %w", err)
	}
	return nil
}

// sources are the facts of all sources, by instance type.
type sources struct {
	described map[string]described
	zones     map[string][]string
	limits    map[string]limits
	prices    map[string]float64 // of us-east-1
	// priceLists are those of all regions.
	priceLists []priceList
	// bandwidths are in Mbps.
	bandwidths map[string]float64
}

func readSources(ctx context.Context) (sources, error) {
	wheel, err := downloadWheel(ctx)
	if err != nil {
		return sources{}, err
	}
	var s sources
	if s.described, s.zones, err = readWheel(wheel); err != nil {
		return sources{}, fmt.Errorf("reading %s: %w", wheel, err)
	}
	s.limits = networkLimits()
	module, err := downloadKarpenter(ctx)
	if err != nil {
		return sources{}, err
	}
	if s.priceLists, err = priceLists(module); err != nil {
		return sources{}, err
	}
	s.prices = s.priceLists[0].prices
	if s.bandwidths, err = networkBandwidths(module); err != nil {
		return sources{}, err
	}
	return s, nil
}
