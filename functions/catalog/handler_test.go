package main

import (
	"context"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/infra/local/ec2"
	"github.com/whittle-dev/whittle/infra/local/pricing"
	"github.com/whittle-dev/whittle/infra/local/wire"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/cluster/clustertest"
	"github.com/whittle-dev/whittle/shared/inventory"
)

// controlPlane is the one of the package's tests: TestMain sets it before they run.
var controlPlane *clustertest.ControlPlane

func TestMain(m *testing.M) {
	os.Exit(clustertest.Run(m, func(started *clustertest.ControlPlane) error {
		controlPlane = started
		return started.Install(context.Background())
	}))
}

// rights reaches the cluster with the function's own rights.
type rights struct{}

func (rights) Client(context.Context) (*cluster.Client, error) {
	return controlPlane.ClientOf("whittle:catalog")
}

// region is a local EC2 and price list, which refuses what the test tells it to.
type region struct {
	*handler
	service *ec2.Service
	refused map[string]bool // actions of the price list
}

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func newRegion(t *testing.T) *region {
	t.Helper()
	service, err := ec2.New(ec2.Config{AccountID: "123456789012", Region: "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = service.Close() })
	prices, err := pricing.New("us-east-1", nil)
	if err != nil {
		t.Fatal(err)
	}
	r := &region{service: service, refused: map[string]bool{}}
	server := wire.NewServer()
	service.Register(server)
	prices.Register(server)
	server.Authorize(func(_ context.Context, call *wire.Call) error {
		if r.refused[call.Action] {
			return wire.Errorf("AccessDeniedException", 400, "not today")
		}
		return nil
	})
	url, err := server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": url, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "AKIATEST", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_CA_BUNDLE": "",
		"AWS_MAX_ATTEMPTS": "1", // what is refused stays refused, and is to be told at once
		"CLUSTER_NAME":     "prod",
	} {
		t.Setenv(name, value)
	}
	if r.handler, err = setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.connection, r.now = rights{}, func() time.Time { return noon }
	forget(t)
	return r
}

// forget removes what another test left.
func forget(t *testing.T) {
	t.Helper()
	client, err := controlPlane.Client()
	if err != nil {
		t.Fatal(err)
	}
	stored, err := client.ConfigMap(t.Context(), "whittle-catalog")
	if err == nil && stored != nil {
		stored.BinaryData = nil
		err = client.PutConfigMap(t.Context(), stored)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func stored(t *testing.T) *catalog.Snapshot {
	t.Helper()
	client, err := controlPlane.ClientOf("whittle:provision")
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := inventory.Catalog(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	return snapshot
}

func infoOf(t *testing.T, snapshot *catalog.Snapshot, name string) catalog.InstanceTypeInfo {
	t.Helper()
	for _, info := range snapshot.InstanceTypes {
		if info.InstanceType == name {
			return info
		}
	}
	t.Fatalf("the catalogue lacks %s", name)
	return catalog.InstanceTypeInfo{}
}

func TestTheCatalogueIsEC2sOffer(t *testing.T) {
	r := newRegion(t)
	for range 2 { // twice in one container: made, then replaced
		summary, err := r.handle(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		snapshot := stored(t)
		if summary.InstanceTypes != len(snapshot.InstanceTypes) || summary.InstanceTypes < 500 || summary.Zones != 3 || summary.Offerings < summary.InstanceTypes || summary.SpotPrices == 0 {
			t.Errorf("summary is %+v", summary)
		}
		if !snapshot.Time.Equal(noon) || !snapshot.SpotPriceTime.Equal(noon) || snapshot.Region != "us-east-1" {
			t.Errorf("read at %s and %s in %s", snapshot.Time, snapshot.SpotPriceTime, snapshot.Region)
		}
	}
	snapshot, table := stored(t), catalogtest.Snapshot(t)
	for _, name := range []string{"m5.large", "m7g.xlarge", "c6i.metal", "g4dn.xlarge", "inf2.xlarge", "t3.micro"} {
		got, want := infoOf(t, snapshot, name), infoOf(t, table, name)
		// The local region has three of the zones of the real one.
		want.Zones = slices.DeleteFunc(slices.Clone(want.Zones), func(zone string) bool { return zone > "us-east-1c" })
		if got.OnDemandPrice != want.OnDemandPrice || got.OnDemandPrice == 0 || !reflect.DeepEqual(got.Zones, want.Zones) {
			t.Errorf("%s costs %v in %v, want %v in %v", name, got.OnDemandPrice, got.Zones, want.OnDemandPrice, want.Zones)
		}
		for zone, price := range got.SpotPrices {
			if price <= 0 || price > got.OnDemandPrice*2 {
				t.Errorf("%s on spot in %s costs %v", name, zone, price)
			}
		}
		// What EC2's answer does not hold, or the table invents, is not compared.
		got.SpotPrices, want.SpotPrices, want.Network.BranchInterfaces = nil, nil, got.Network.BranchInterfaces
		for i := range want.NeuronDevices {
			want.NeuronDevices[i].Manufacturer, want.NeuronDevices[i].MemoryInMiB = "", 0
		}
		for i := range want.InferenceAccelerators {
			want.InferenceAccelerators[i].MemoryInMiB = 0
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s\ngot  %+v\nwant %+v", name, got, want)
		}
	}
	if !sorted(snapshot) {
		t.Error("the types are not sorted by name: a price cannot be looked up")
	}
}

func sorted(snapshot *catalog.Snapshot) bool {
	for i := 1; i < len(snapshot.InstanceTypes); i++ {
		if snapshot.InstanceTypes[i-1].InstanceType >= snapshot.InstanceTypes[i].InstanceType {
			return false
		}
	}
	return true
}

func TestPricesThatCannotBeReadStayWhatTheyWere(t *testing.T) {
	r := newRegion(t)
	if _, err := r.handle(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	before := stored(t)
	later := noon.Add(time.Hour)
	r.now = func() time.Time { return later }
	r.refused["GetProducts"] = true
	r.service.Throttle("DescribeSpotPriceHistory", 1, 0)
	summary, err := r.handle(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	after := stored(t)
	if !after.Time.Equal(later) || !after.SpotPriceTime.Equal(noon) {
		t.Errorf("facts of %s, spot prices of %s: want the new time and the old one", after.Time, after.SpotPriceTime)
	}
	for _, name := range []string{"m5.large", "c6i.metal"} {
		was, is := infoOf(t, before, name), infoOf(t, after, name)
		if is.OnDemandPrice != was.OnDemandPrice || !reflect.DeepEqual(is.SpotPrices, was.SpotPrices) {
			t.Errorf("%s cost %v and %v, and now %v and %v", name, was.OnDemandPrice, was.SpotPrices, is.OnDemandPrice, is.SpotPrices)
		}
	}
	if summary.SpotPrices == 0 {
		t.Errorf("summary is %+v", summary)
	}
}

func TestAnEmptyPriceListKeepsThePrices(t *testing.T) {
	r := newRegion(t)
	if _, err := r.handle(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	r.region = "mars-north-1" // which no product is of
	if _, err := r.handle(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if info := infoOf(t, stored(t), "m5.large"); info.OnDemandPrice == 0 {
		t.Error("an empty price list took the prices away")
	}
}

func TestTheFirstCatalogueNeedsItsPrices(t *testing.T) {
	for name, refuse := range map[string]func(*region){
		"reading the price list": func(r *region) { r.refused["GetProducts"] = true },
		"no price in US dollars": func(r *region) { r.region = "mars-north-1" },
		"listing spot prices":    func(r *region) { r.service.Throttle("DescribeSpotPriceHistory", 1, 0) },
	} {
		r := newRegion(t)
		refuse(r)
		if _, err := r.handle(t.Context(), nil); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error is %v, want %q", err, name)
		}
	}
}

func TestFactsThatCannotBeReadAreAnErrorAndLeaveTheCatalogue(t *testing.T) {
	for action, want := range map[string]string{
		"DescribeInstanceTypes": "listing instance types", "DescribeInstanceTypeOfferings": "listing the zones of instance types",
		"DescribeAvailabilityZones": "listing availability zones",
	} {
		t.Run(action, func(t *testing.T) {
			r := newRegion(t)
			if _, err := r.handle(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			r.now = func() time.Time { return noon.Add(time.Hour) }
			r.service.Throttle(action, 1, 0)
			if _, err := r.handle(t.Context(), nil); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error is %v, want %q", err, want)
			}
			if !stored(t).Time.Equal(noon) {
				t.Error("half a catalogue replaced a whole one")
			}
		})
	}
}
