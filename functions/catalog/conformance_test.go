//go:build conformance

package catalog

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/ec2catalog"
	"github.com/whittle-dev/whittle/testdata/lab/conformance"
)

// TestTheCatalogueReadsMoto reads instance types, zones and prices from moto, whose types are
// recordings of AWS. It compares them with those of the local EC2.
func TestTheCatalogueReadsMoto(t *testing.T) {
	_, moto := conformance.StartMoto(t)
	reader, err := ec2catalog.NewReader(moto.Config(), catalog.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := reader.Read(t.Context(), time.Now(), nil)
	if err != nil || len(theirs.InstanceTypes) < 500 || len(theirs.Zones) < 3 || len(infoOf(t, theirs, "m5.large").Zones) == 0 {
		t.Fatalf("%+v, %v", theirs, err)
	}
	ours, err := newRegion(t).reader.Read(t.Context(), time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	compareTypes(t, ours.InstanceTypes, theirs.InstanceTypes)
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
