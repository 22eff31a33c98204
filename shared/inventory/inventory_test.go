package inventory_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

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

// as is a client with the rights of a function.
func as(t *testing.T, function string) *cluster.Client {
	t.Helper()
	client, err := controlPlane.ClientOf("whittle:" + function)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// put writes a ConfigMap past the package, replacing the one that is there.
func put(t *testing.T, object *corev1.ConfigMap) {
	t.Helper()
	client, err := controlPlane.Client()
	if err != nil {
		t.Fatal(err)
	}
	stored, err := client.ConfigMap(t.Context(), object.Name)
	if err != nil {
		t.Fatal(err)
	}
	if stored != nil {
		object.ResourceVersion = stored.ResourceVersion
	}
	if err := client.PutConfigMap(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

func TestCatalogComesBackAsItWasWritten(t *testing.T) {
	if _, err := inventory.Catalog(t.Context(), as(t, "provision")); !errors.Is(err, inventory.ErrNoCatalog) {
		t.Fatalf("without a catalogue the error is %v, want ErrNoCatalog", err)
	}
	whole := catalogtest.Catalog(t)
	half := *whole
	half.InstanceTypes = half.InstanceTypes[:len(half.InstanceTypes)/2]
	for _, written := range []*catalog.Catalog{&half, whole} { // made, then replaced
		if err := inventory.PutCatalog(t.Context(), as(t, "catalog"), written); err != nil {
			t.Fatal(err)
		}
		for _, reader := range []string{"provision", "lifecycle", "disrupt"} {
			read, err := inventory.Catalog(t.Context(), as(t, reader))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(simplified(read), simplified(written)) {
				t.Errorf("%s reads another catalogue than was written", reader)
			}
		}
	}
}

// simplified has empty maps and slices for what JSON leaves out.
func simplified(snapshot *catalog.Catalog) *catalog.Catalog {
	copied := *snapshot
	copied.InstanceTypes = append([]catalog.InstanceTypeInfo(nil), snapshot.InstanceTypes...)
	for i := range copied.InstanceTypes {
		info := &copied.InstanceTypes[i]
		if len(info.SpotPrices) == 0 {
			info.SpotPrices = nil
		}
		if len(info.SupportedFeatures) == 0 {
			info.SupportedFeatures = nil
		}
	}
	return &copied
}

func TestACatalogueThatCannotBeReadNamesTheMend(t *testing.T) {
	var notJSON bytes.Buffer
	writer := gzip.NewWriter(&notJSON)
	if _, err := writer.Write([]byte("half an obj")); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"not gzip": []byte("plain"), "not JSON": notJSON.Bytes(), "cut off": notJSON.Bytes()[:notJSON.Len()-9],
	} {
		t.Run(name, func(t *testing.T) {
			object := &corev1.ConfigMap{BinaryData: map[string][]byte{"catalog.json.gz": content}}
			object.Name = "whittle-catalog"
			put(t, object)
			_, err := inventory.Catalog(t.Context(), as(t, "provision"))
			if err == nil || !strings.Contains(err.Error(), "whittle-system/whittle-catalog") ||
				!strings.Contains(err.Error(), "delete it and invoke the catalog function") {
				t.Errorf("error is %v", err)
			}
		})
	}
	// The catalog function replaces it without being asked.
	if err := inventory.PutCatalog(t.Context(), as(t, "catalog"), catalogtest.Catalog(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := inventory.Catalog(t.Context(), as(t, "provision")); err != nil {
		t.Error(err)
	}
}

func TestACatalogueTooLargeIsRefusedWithItsSize(t *testing.T) {
	snapshot := &catalog.Catalog{Time: catalogtest.Now}
	seed := uint64(1)
	for range 60_000 {
		// Names without a pattern: what cannot be compressed.
		seed = seed*6364136223846793005 + 1442695040888963407
		snapshot.InstanceTypes = append(
			snapshot.InstanceTypes, catalog.InstanceTypeInfo{InstanceType: fmt.Sprintf("%016x%016x", seed, seed*seed)},
		)
	}
	err := inventory.PutCatalog(t.Context(), as(t, "catalog"), snapshot)
	if err == nil || !strings.Contains(err.Error(), "60000 instance types") {
		t.Errorf("error is %v", err)
	}
}

func TestMarkersAtOnceBothGetTheirsIn(t *testing.T) {
	now := catalogtest.Now
	const markers = 4
	var group sync.WaitGroup
	for i := range markers {
		group.Go(func() {
			client, err := controlPlane.ClientOf("whittle:provision")
			if err == nil {
				marks := &catalog.Unavailable{}
				marks.Mark("spot", fmt.Sprintf("m%d.large", i), "us-east-1a", now)
				err = inventory.MarkUnavailable(t.Context(), client, marks, now)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	known, err := inventory.Unavailable(t.Context(), as(t, "provision"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range markers {
		if !known.Has("spot", fmt.Sprintf("m%d.large", i), "us-east-1a", now) {
			t.Errorf("marker %d's offering is lost: %v", i, known.Until)
		}
	}
	// What has run out goes with the next mark.
	later := now.Add(time.Hour)
	marks := &catalog.Unavailable{}
	marks.Mark("on-demand", "c7g.large", "us-east-1b", later)
	if err := inventory.MarkUnavailable(t.Context(), as(t, "interrupt"), marks, later); err != nil {
		t.Fatal(err)
	}
	known, err = inventory.Unavailable(t.Context(), as(t, "lifecycle"))
	if err != nil || len(known.Until) != 1 || !known.Has("on-demand", "c7g.large", "us-east-1b", later) {
		t.Errorf("%v, %v", known, err)
	}
}

func TestUnavailableOfferingsThatCannotBeReadAreForgotten(t *testing.T) {
	object := &corev1.ConfigMap{Data: map[string]string{"offerings.json": "{"}}
	object.Name = "whittle-unavailable-offerings"
	put(t, object)
	known, err := inventory.Unavailable(t.Context(), as(t, "provision"))
	if err != nil || len(known.Until) != 0 {
		t.Errorf("%v, %v, want an empty list", known, err)
	}
	marks := &catalog.Unavailable{}
	marks.Mark("spot", "m7g.large", "us-east-1a", catalogtest.Now)
	if err := inventory.MarkUnavailable(t.Context(), as(t, "provision"), marks, catalogtest.Now); err != nil {
		t.Fatal(err)
	}
	if known, err := inventory.Unavailable(t.Context(), as(t, "provision")); err != nil || len(known.Until) != 1 {
		t.Errorf("%v, %v, want the new mark", known, err)
	}
}

func TestWithoutRightsThereIsAnErrorAndNoEmptyAnswer(t *testing.T) {
	if _, err := inventory.Catalog(t.Context(), as(t, "ticker")); !apierrors.IsForbidden(err) {
		t.Errorf("error is %v", err)
	}
	if _, err := inventory.Unavailable(t.Context(), as(t, "ticker")); !apierrors.IsForbidden(err) {
		t.Errorf("error is %v", err)
	}
	if err := inventory.MarkUnavailable(
		t.Context(), as(t, "ticker"), &catalog.Unavailable{}, catalogtest.Now,
	); !apierrors.IsForbidden(err) {
		t.Errorf("error is %v", err)
	}
}
