package functiontest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/cluster/clustertest"
)

// waitLimit bounds the waits for the control plane.
const waitLimit = 2 * time.Minute

// Cluster is a control plane without nodes of its own.
type Cluster struct {
	plane    *clustertest.ControlPlane
	http     *http.Client // an administrator's
	function string

	mutex  sync.Mutex
	denied map[string]bool
}

// Main runs the tests of a function's package against a cluster that it starts and stops, and
// returns the exit code. The code is also not zero when the API server denied the function a call.
// The function set gets the cluster.
func Main(m *testing.M, function string, set func(*Cluster)) int {
	c := &Cluster{function: function, denied: map[string]bool{}}
	code := clustertest.Run(m, func(started *clustertest.ControlPlane) error {
		c.plane = started
		var err error
		if c.http, err = rest.HTTPClientFor(started.RESTConfig()); err != nil {
			return err
		}
		set(c)
		return started.Install(context.Background())
	})
	for call := range c.denied {
		fmt.Fprintf(os.Stderr, "function %s may not %s: see functions/install/manifests/rbac\n", function, call)
		code = 1
	}
	return code
}

// Administrator returns an administrator's way to the API server, and a kubeconfig for it.
func (c *Cluster) Administrator() (config *rest.Config, kubeconfig string) {
	return c.plane.RESTConfig(), c.plane.Kubeconfig
}

// Client returns a client with the function's rights. Its requests pass through wrap, unless wrap
// is nil.
func (c *Cluster) Client(t *testing.T, wrap func(http.RoundTripper) http.RoundTripper) *cluster.Client {
	t.Helper()
	config := c.plane.RESTConfig()
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "function", Groups: []string{"whittle:" + c.function, "system:authenticated"},
	}
	config.Wrap(clustertest.Consistent)
	config.Wrap(c.rememberDenied)
	if wrap != nil {
		config.Wrap(wrap)
	}
	client, err := cluster.NewForConfig(cluster.Endpoint{Name: "test", URL: c.plane.Endpoint}, config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Everything returns a client that may do everything, for what other functions have written before.
func (c *Cluster) Everything(t *testing.T) *cluster.Client {
	t.Helper()
	client, err := c.plane.Client()
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// rememberDenied remembers the calls that the API server denied.
func (c *Cluster) rememberDenied(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err == nil && response.StatusCode == http.StatusForbidden {
			c.mutex.Lock()
			defer c.mutex.Unlock()
			c.denied[request.Method+" "+request.URL.Path] = true
		}
		return response, err
	})
}

// statusError is an answer that reports a failure.
type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string { return fmt.Sprintf("%d: %s", e.code, e.text) }

func (c *Cluster) send(ctx context.Context, method, path string, object, into any) error {
	var body io.Reader
	if object != nil {
		encoded, err := json.Marshal(object)
		if err != nil {
			return err
		}
		body = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.plane.Endpoint+path, body)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: %w", method, path, &statusError{response.StatusCode, string(content)})
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(content, into)
}
