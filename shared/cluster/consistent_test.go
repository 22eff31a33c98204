package cluster_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	"github.com/whittle-dev/whittle/shared/cluster"
)

// observed is a transport that notes the paths of reads from the watch cache.
type observed struct{ cached []string }

func (o *observed) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Query().Get("resourceVersion") == "0" {
		o.cached = append(o.cached, request.URL.Path)
	}
	return nil, context.Canceled
}

func TestAConsistentClientNeverReadsTheWatchCache(t *testing.T) {
	transport := &observed{}
	client, err := cluster.NewForConfig(cluster.Endpoint{Name: "test", URL: "https://cluster.invalid"},
		&rest.Config{Host: "https://cluster.invalid", Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	readAll := func(client *cluster.Client) []string {
		transport.cached = nil
		ctx := t.Context()
		_, _ = client.NodePools(ctx)
		_, _ = client.NodeClasses(ctx)
		_, _ = client.NodeOverlays(ctx)
		_, _ = client.NodeClaims(ctx)
		_, _ = client.CachedNodeClaims(ctx)
		_, _ = client.HasNodeClaims(ctx)
		_, _ = client.SelectNodeClaims(ctx, labels.Everything(), true)
		_, _ = client.UnboundPods(ctx)
		_, _ = client.Pods(ctx)
		_, _ = client.Nodes(ctx)
		_, _ = client.Node(ctx, "node-1", true)
		_, _ = client.PodsOnNode(ctx, "node-1", "")
		_, _ = client.PodsSelected(ctx, "shop", "app=web")
		_, _ = client.DaemonSets(ctx)
		_, _ = client.PodDisruptionBudgets(ctx)
		_, _ = client.VolumeAttachments(ctx)
		_, _ = client.NodeLeases(ctx)
		_, _ = client.PersistentVolumeClaims(ctx)
		_, _ = client.PersistentVolumes(ctx)
		_, _ = client.StorageClasses(ctx)
		_, _ = client.CSINodes(ctx)
		_, _ = client.Namespaces(ctx)
		return transport.cached
	}
	if cached := readAll(client); !slices.Contains(cached, "/api/v1/pods") || len(cached) < 10 {
		t.Fatalf("the test sees reads of %v", cached)
	}
	if cached := readAll(client.Consistent()); len(cached) > 0 {
		t.Errorf("read from the watch cache: %s", strings.Join(cached, ", "))
	}
}
