//go:build conformance

package main

import (
	"reflect"
	"slices"
	"testing"
	"time"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/whittle-dev/whittle/infra/local/conformance"
	"github.com/whittle-dev/whittle/shared/catalog"
)

// TestTheCatalogueReadsMoto reads instance types, zones and prices from moto, whose types are
// recordings of AWS. It compares them with those of the local EC2.
func TestTheCatalogueReadsMoto(t *testing.T) {
	_, moto := conformance.StartMoto(t)
	reader := &handler{region: conformance.Region, ec2: awsec2.NewFromConfig(moto.Config()), now: time.Now}
	types, err := reader.instanceTypes(t.Context())
	if err != nil || len(types) < 500 {
		t.Fatalf("%d types, %v", len(types), err)
	}
	zones, err := reader.zones(t.Context())
	if err != nil || len(zones) < 3 {
		t.Errorf("zones %+v, %v", zones, err)
	}
	offerings, err := reader.offerings(t.Context())
	if err != nil || len(offerings["m5.large"]) == 0 {
		t.Errorf("%d types are offered, m5.large in %q, %v", len(offerings), offerings["m5.large"], err)
	}
	if _, err := reader.spotPrices(t.Context()); err != nil {
		t.Errorf("spot prices: %v", err)
	}
	ours, err := newRegion(t).instanceTypes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	compareTypes(t, ours, types)
}

// compareTypes reports the differences of two descriptions in facts that matter for pods.
func compareTypes(t *testing.T, ours, theirs []catalog.InstanceTypeInfo) {
	t.Helper()
	both, differ := 0, map[string][]string{}
	for _, their := range theirs {
		at := slices.IndexFunc(
			ours, func(our catalog.InstanceTypeInfo) bool { return our.InstanceType == their.InstanceType },
		)
		if at < 0 {
			continue
		}
		both++
		our := ours[at]
		for field, values := range map[string][2]any{
			"vCPUs": {our.DefaultVCpus, their.DefaultVCpus}, "memory": {our.SizeInMiB, their.SizeInMiB},
			"architectures": {our.SupportedArchitectures, their.SupportedArchitectures},
			"interfaces":    {our.Network.MaximumNetworkInterfaces, their.Network.MaximumNetworkInterfaces},
			"addresses":     {our.Network.Ipv4AddressesPerInterface, their.Network.Ipv4AddressesPerInterface},
			"EFA":           {our.Network.MaximumEfaInterfaces, their.Network.MaximumEfaInterfaces},
			"storage":       {our.TotalSizeInGB, their.TotalSizeInGB},
			"GPUs":          {our.Gpus, their.Gpus}, "Neuron": {our.NeuronDevices, their.NeuronDevices},
			"bare metal": {our.BareMetal, their.BareMetal},
		} {
			if !reflect.DeepEqual(values[0], values[1]) {
				differ[field] = append(differ[field], our.InstanceType)
			}
		}
	}
	t.Logf("%d types are described by both", both)
	if both < 500 {
		t.Errorf("only %d types are described by both", both)
	}
	for field, names := range differ {
		// The tables have different dates, and AWS sometimes changes a type's description.
		if len(names)*50 > both {
			t.Errorf("%s: %d of %d types differ, such as %q", field, len(names), both, names[:min(5, len(names))])
			continue
		}
		t.Logf("%s: %d of %d types differ: %q", field, len(names), both, names)
	}
}
