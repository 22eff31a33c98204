package catalog

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/cluster/clustertest"
	"github.com/whittle-dev/whittle/shared/ec2catalog"
	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/pricing"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// TestMain sets controlPlane before the tests run.
var controlPlane *clustertest.ControlPlane

func TestMain(m *testing.M) {
	os.Exit(clustertest.Run(m, func(started *clustertest.ControlPlane) error {
		controlPlane = started
		return started.Install(context.Background())
	}))
}

// rights connects to the cluster with the function's own rights.
type rights struct{}

func (rights) Client(context.Context) (*cluster.Client, error) {
	return controlPlane.ClientOf("whittle:catalog")
}

// region is a local EC2 and price list that refuses calls as the test asks.
type region struct {
	*Handler
	service *ec2.Service
	// refused is how many calls of an action succeed before all later ones fail.
	refused map[string]int
	calls   map[string]int
	// edit changes the answers; nil keeps them.
	edit  func(body string) string
	mutex sync.Mutex
}

func (r *region) refuse(action string) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.calls[action]++
	if most, bounded := r.refused[action]; bounded && r.calls[action] > most {
		return wire.Errorf("AccessDeniedException", 400, "not today")
	}
	return nil
}

// between returns a proxy that edits the server's answers.
func (r *region) between(t *testing.T, server string) string {
	t.Helper()
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(request *httputil.ProxyRequest) { request.SetURL(target); request.Out.Host = request.In.Host },
		ModifyResponse: func(response *http.Response) error {
			if r.edit == nil {
				return nil
			}
			body, err := io.ReadAll(response.Body)
			if err != nil {
				return err
			}
			edited := r.edit(string(body))
			response.Body, response.ContentLength = io.NopCloser(strings.NewReader(edited)), int64(len(edited))
			response.Header.Set("Content-Length", strconv.Itoa(len(edited)))
			return nil
		},
	})
	t.Cleanup(proxy.Close)
	return proxy.URL
}

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func newRegion(t *testing.T) *region {
	t.Helper()
	return newRegionWith(t, nil, nil)
}

// newRegionWith makes a region with Local Zones, whose groups have prices of their own.
func newRegionWith(t *testing.T, localZones, groups []string) *region {
	t.Helper()
	service, err := ec2.New(ec2.Config{AccountID: "123456789012", Region: "us-east-1", LocalZones: localZones})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = service.Close() })
	prices, err := pricing.New("us-east-1", nil, groups...)
	if err != nil {
		t.Fatal(err)
	}
	r := &region{service: service, refused: map[string]int{}, calls: map[string]int{}}
	server := wire.NewServer()
	service.Register(server)
	prices.Register(server)
	server.Authorize(func(_ context.Context, call *wire.Call) error { return r.refuse(call.Action) })
	listening, err := server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": r.between(t, listening), "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "AKIATEST",
		"AWS_SECRET_ACCESS_KEY": "secret", "AWS_CA_BUNDLE": "",
		"AWS_MAX_ATTEMPTS": "1", // what is refused stays refused, and is to be told at once
		"CLUSTER_NAME":     "prod",
	} {
		t.Setenv(name, value)
	}
	if r.Handler, err = New(t.Context(), function.Deps{}); err != nil {
		t.Fatal(err)
	}
	r.connection, r.now = rights{}, func() time.Time { return noon }
	forget(t)
	return r
}

// move makes the handler one of another region, with the same EC2 and price list.
func (r *region) move(t *testing.T, name string) {
	t.Helper()
	config, err := (function.Deps{}).Configuration(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	config.Region = name
	if r.reader, err = ec2catalog.NewReader(config, catalog.Settings{}); err != nil {
		t.Fatal(err)
	}
}

// forget deletes the objects of other tests.
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

func stored(t *testing.T) *catalog.Catalog {
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

func infoOf(t *testing.T, snapshot *catalog.Catalog, name string) catalog.InstanceTypeInfo {
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
		summary, err := r.Handle(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		snapshot := stored(t)
		if summary.InstanceTypes != len(snapshot.InstanceTypes) || summary.InstanceTypes < 500 || summary.Zones != 3 ||
			summary.Offerings < summary.InstanceTypes || summary.SpotPrices == 0 {
			t.Errorf("summary is %+v", summary)
		}
		if !snapshot.Time.Equal(noon) || !snapshot.SpotPriceTime.Equal(noon) || snapshot.Region != "us-east-1" {
			t.Errorf("read at %s and %s in %s", snapshot.Time, snapshot.SpotPriceTime, snapshot.Region)
		}
	}
	snapshot, table := stored(t), catalogtest.Catalog(t)
	for _, name := range []string{
		"m5.large", "m7g.xlarge", "c6i.metal", "g4dn.xlarge", "inf2.xlarge", "t3.micro", "p5.48xlarge", "c6in.32xlarge",
	} {
		got, want := infoOf(t, snapshot, name), infoOf(t, table, name)
		// The local region has three of the real region's zones.
		want.Zones = slices.DeleteFunc(slices.Clone(want.Zones), func(zone string) bool { return zone > "us-east-1c" })
		if got.OnDemandPrice != want.OnDemandPrice || got.OnDemandPrice == 0 || !reflect.DeepEqual(got.Zones, want.Zones) {
			t.Errorf("%s costs %v in %v, want %v in %v", name, got.OnDemandPrice, got.Zones, want.OnDemandPrice, want.Zones)
		}
		for zone, price := range got.SpotPrices {
			if price <= 0 || price > got.OnDemandPrice*2 {
				t.Errorf("%s on spot in %s costs %v", name, zone, price)
			}
		}
		// Spot prices are not compared: the table invents them.
		got.SpotPrices, want.SpotPrices = nil, nil
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

func sorted(snapshot *catalog.Catalog) bool {
	for i := 1; i < len(snapshot.InstanceTypes); i++ {
		if snapshot.InstanceTypes[i-1].InstanceType >= snapshot.InstanceTypes[i].InstanceType {
			return false
		}
	}
	return true
}

func TestFactsThatCannotBeReadAreAnErrorAndLeaveTheCatalogue(t *testing.T) {
	for action, want := range map[string]string{
		"DescribeInstanceTypes":         "listing instance types",
		"DescribeInstanceTypeOfferings": "listing the zones of instance types",
		"DescribeAvailabilityZones":     "listing availability zones",
	} {
		t.Run(action, func(t *testing.T) {
			r := newRegion(t)
			if _, err := r.Handle(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			r.now = func() time.Time { return noon.Add(time.Hour) }
			r.service.FailCalls(ec2.CallFailure{Action: action, Code: "InternalError"})
			if _, err := r.Handle(t.Context(), nil); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error is %v, want %q", err, want)
			}
			if !stored(t).Time.Equal(noon) {
				t.Error("half a catalogue replaced a whole one")
			}
		})
	}
}
