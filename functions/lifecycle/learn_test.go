package lifecycle

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/inventory"
)

// has sets the memory that the node's kubelet reports.
func has(t *testing.T, node, memory string) {
	t.Helper()
	server.Patch(t, functiontest.NodesPath+"/"+node+"/status",
		map[string]any{"status": map[string]any{"capacity": map[string]any{"memory": memory}}})
}

func imaged(t *testing.T, claim, image string) {
	t.Helper()
	server.Patch(t, api.NodeClaimsPath+"/"+claim+"/status", map[string]any{"status": map[string]any{"imageID": image}})
}

// configMaps counts the reads and writes of ConfigMaps.
type configMaps struct{ reads, writes atomic.Int64 }

func (c *configMaps) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if strings.Contains(request.URL.Path, "/configmaps") {
			if request.Method == http.MethodGet {
				c.reads.Add(1)
			} else {
				c.writes.Add(1)
			}
		}
		return next.RoundTrip(request)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// connectTo makes the handler use the client.
func (l *life) connectTo(client *cluster.Client) {
	l.connect = func(context.Context) (kubernetes, error) { return client, nil }
}

// TestTheMemoryOfNodesIsLearned follows a memory from a node that joins to the planned instance
// types.
func TestTheMemoryOfNodesIsLearned(t *testing.T) {
	counted := &configMaps{}
	l := newLife(t)
	l.clock.leaveHalfHour()
	client := server.Client(t, counted.wrap)
	l.connectTo(client)
	for _, node := range []struct{ name, image, memory string }{
		{"learn-1", "ami-1", "7800Mi"}, {"learn-2", "ami-1", "7790Mi"}, {"learn-3", "ami-other", "7000Mi"},
	} {
		id := "i-" + node.name
		l.ec2.launch(id, map[string]string{api.NodeClaimTagKey: node.name})
		server.Claim(t, node.name, id)
		imaged(t, node.name, node.image)
		server.Node(t, "node-"+node.name, id)
		has(t, "node-"+node.name, node.memory)
		l.until(t, "node-"+node.name, func() bool { return isReady(t, node.name) })
	}
	if _, err := l.handle(t.Context(), wakes(t, l.tick())); err != nil {
		t.Fatal(err)
	}
	known, err := inventory.Learned(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]int64{catalog.LearnedKey("m5.large", "ami-1"): 7790 << 20,
		catalog.LearnedKey("m5.large", "ami-other"): 7000 << 20} {
		if got := known.Capacities[key].Memory; got != want {
			t.Errorf("%s has %d bytes, want %d", key, got, want)
		}
	}
	for _, typ := range catalog.Resolve(catalogtest.Catalog(t), catalogtest.NodeClass("default"),
		catalog.Observed{Learned: known}, l.clock.now()) {
		if memory := typ.Capacity[corev1.ResourceMemory]; typ.Name == "m5.large" && memory.String() != "7790Mi" {
			t.Errorf("m5.large is planned with %s", memory.String())
		}
	}

	// A known memory costs no call, and one read in another container.
	counted.reads.Store(0)
	counted.writes.Store(0)
	if _, err := l.handle(t.Context(), wakes(t, l.tick())); err != nil {
		t.Fatal(err)
	}
	if counted.reads.Load() != 0 || counted.writes.Load() != 0 {
		t.Errorf("what is known was read %d times and written %d times", counted.reads.Load(), counted.writes.Load())
	}
	other := newLife(t)
	other.clock.leaveHalfHour()
	other.ec2, other.fleet = l.ec2, l.ec2
	other.told.Store(other.clock.now().Unix()) // the chart of the day is written elsewhere
	other.connectTo(client)
	for range 2 {
		if _, err := other.handle(t.Context(), wakes(t, other.tick())); err != nil {
			t.Fatal(err)
		}
	}
	if counted.reads.Load() != 2 || counted.writes.Load() != 0 { // the other is of the interruptions of spot nodes
		t.Errorf("another container read %d times and wrote %d times, want twice and never", counted.reads.Load(),
			counted.writes.Load())
	}
}

// TestANodeJoinsWhenItsCapacityCannotBeWritten lets every call about ConfigMaps fail.
func TestANodeJoinsWhenItsCapacityCannotBeWritten(t *testing.T) {
	refused := &atomic.Int64{}
	l := newLife(t)
	l.clock.leaveHalfHour()
	l.connectTo(server.Client(t, func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if strings.Contains(request.URL.Path, "/configmaps") {
				refused.Add(1)
				return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: http.NoBody, Header: http.Header{},
					Request: request}, nil
			}
			return next.RoundTrip(request)
		})
	}))
	l.ec2.launch("i-unlearned", map[string]string{api.NodeClaimTagKey: "unlearned"})
	server.Claim(t, "unlearned", "i-unlearned")
	imaged(t, "unlearned", "ami-unlearned")
	server.Node(t, "node-unlearned", "i-unlearned")
	has(t, "node-unlearned", "7800Mi")
	l.until(t, "node-unlearned", func() bool { return isReady(t, "unlearned") && refused.Load() > 0 })
	if _, err := l.handle(t.Context(), wakes(t, l.tick())); err != nil {
		t.Errorf("the pass fails: %v", err)
	}
}
