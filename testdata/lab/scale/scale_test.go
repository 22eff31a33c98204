package scale

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/whittle-dev/whittle/shared/cluster"
)

func TestTheObjectsHaveRealisticSizes(t *testing.T) {
	pod, err := json.Marshal(Pod(1234, "ip-10-0-1-2.ec2.internal"))
	if err != nil {
		t.Fatal(err)
	}
	images, err := json.Marshal(Images())
	if err != nil {
		t.Fatal(err)
	}
	if len(pod) < 3800 || len(pod) > 6500 {
		t.Errorf("a pod has %d bytes of JSON, want 4 to 6 KB: %s", len(pod), pod)
	}
	if len(images) < 13_000 || len(images) > 20_000 {
		t.Errorf("a node's images have %d bytes of JSON, want 13 to 20 KB", len(images))
	}
}

// TestPodsAreListedPageByPage reads the pods with Whittle's own client: each once, the fake's and
// the real ones.
func TestPodsAreListedPageByPage(t *testing.T) {
	lists := 0
	behind := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lists++
		real := corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "77"}}
		real.Items = append(real.Items, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "real", UID: "real", ResourceVersion: "7"}})
		var items []byte
		encoded, err := real.Items[0].Marshal()
		if err == nil {
			items = appendField(nil, 2, encoded)
			err = answer(w, r, real.ListMeta, items, nil)
		}
		if err != nil {
			t.Error(err)
		}
	}))
	defer behind.Close()
	fake, err := Start(behind.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: behind.Certificate().Raw}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = fake.Close() }()
	sent := &accepted{count: map[bool]int{}}
	client, err := cluster.NewForConfig(cluster.Endpoint{Name: "large", URL: fake.Address()}, &rest.Config{
		Host: fake.Address(), TLSClientConfig: rest.TLSClientConfig{CAData: fake.Authority()}, WrapTransport: sent.wrap,
	})
	if err != nil {
		t.Fatal(err)
	}
	var nodes []string
	for n := range 100 {
		nodes = append(nodes, fmt.Sprintf("node-%d", n))
	}
	if err := fake.SetPods(nodes, func(at int) int { return 12 + at%2 }); err != nil {
		t.Fatal(err)
	}
	warm := client.WithCache(cluster.NewCache(1<<30, time.Now))
	if _, err := warm.Pods(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, reader := range map[string]*cluster.Client{
		"cached": client, "consistent": client.Consistent(), "warm": warm,
	} {
		pods, err := reader.Pods(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for i := range pods {
			seen[string(pods[i].UID)] = true
		}
		if len(pods) != 1251 || len(seen) != 1251 || !seen["real"] {
			t.Errorf("%s: %d pods, %d different ones, want 1250 and a real one", name, len(pods), len(seen))
		}
	}
	// Three lists in full have three pages each.
	if sent.count[true] != 1 || sent.count[false] != 9 {
		t.Errorf("%d lists of metadata and %d of pods", sent.count[true], sent.count[false])
	}
	on, err := client.PodsOnNode(t.Context(), "node-7", "")
	if err != nil || len(on) != 13 || on[0].Spec.NodeName != "node-7" {
		t.Errorf("%d pods on a node, %v, want 13", len(on), err)
	}
}

// accepted counts requests for metadata, and others.
type accepted struct {
	next  http.RoundTripper
	count map[bool]int
}

func (a *accepted) wrap(next http.RoundTripper) http.RoundTripper {
	a.next = next
	return a
}

func (a *accepted) RoundTrip(request *http.Request) (*http.Response, error) {
	a.count[strings.Contains(request.Header.Get("Accept"), metadata)]++
	return a.next.RoundTrip(request)
}
