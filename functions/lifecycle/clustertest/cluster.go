// Package clustertest gives tests of functions a real API server with everything
// that Whittle installs, clients with a function's own rights, and ways to make
// objects, to play the kubelet, and to cut a function off between any two calls.
package clustertest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/whittle-dev/whittle/functions/install/manifests"
	"github.com/whittle-dev/whittle/infra/local/kubernetes"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
)

// patience bounds the waits for the control plane.
const patience = 30 * time.Second

// Cluster is a control plane without nodes of its own.
type Cluster struct {
	plane     *kubernetes.ControlPlane
	http      *http.Client // an administrator's
	function  string
	directory string

	mutex  sync.Mutex
	denied map[string]bool
}

// Main runs the tests of a function's package against a cluster that it starts and
// stops, and returns the exit code: not zero, too, when the API server denied the
// function anything. root is the repository's; set gets the cluster.
func Main(m *testing.M, root, function string, set func(*Cluster)) int {
	started, err := start(context.Background(), root, function)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	set(started)
	code := m.Run()
	for call := range started.denied {
		fmt.Fprintf(os.Stderr, "function %s may not %s: see functions/install/manifests/rbac\n", function, call)
		code = 1
	}
	if err := started.stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func start(ctx context.Context, root, function string) (*Cluster, error) {
	binary, err := kubernetes.Build(ctx, root, os.Stderr)
	if err != nil {
		return nil, err
	}
	directory, err := os.MkdirTemp("", "whittle-clustertest-")
	if err != nil {
		return nil, err
	}
	plane, err := kubernetes.Start(ctx, kubernetes.Options{Binary: binary, Directory: directory})
	if err != nil {
		return nil, err
	}
	c := &Cluster{plane: plane, function: function, directory: directory, denied: map[string]bool{}}
	if c.http, err = rest.HTTPClientFor(plane.RESTConfig()); err != nil {
		return nil, err
	}
	return c, c.install(ctx)
}

func (c *Cluster) stop() error {
	err := c.plane.Stop()
	if removed := os.RemoveAll(c.directory); err == nil {
		err = removed
	}
	return err
}

// install does what the function install does, as an administrator.
func (c *Cluster) install(ctx context.Context) error {
	administrator, err := cluster.NewForConfig(cluster.Endpoint{Name: "test", URL: c.plane.Endpoint}, c.plane.RESTConfig())
	if err != nil {
		return err
	}
	definitions, err := manifests.CRDs()
	if err != nil {
		return err
	}
	namespace, err := manifests.Namespace()
	if err != nil {
		return err
	}
	rights, err := manifests.RBAC()
	if err != nil {
		return err
	}
	for _, object := range slices.Concat(definitions, []unstructured.Unstructured{namespace}, rights) {
		if err := administrator.Apply(ctx, &object); err != nil {
			return err
		}
	}
	for _, path := range []string{api.NodeClaimsPath, api.NodePoolsPath, api.EC2NodeClassesPath} {
		if err := c.await(ctx, path); err != nil {
			return err
		}
	}
	return nil
}

// await returns when a path is served.
func (c *Cluster) await(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := c.send(ctx, http.MethodGet, path, nil, nil)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", path, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Client returns a client with the function's rights. Its requests pass through
// wrap, unless that is nil.
func (c *Cluster) Client(t *testing.T, wrap func(http.RoundTripper) http.RoundTripper) *cluster.Client {
	t.Helper()
	config := c.plane.RESTConfig()
	config.Impersonate = rest.ImpersonationConfig{UserName: "function", Groups: []string{"whittle:" + c.function, "system:authenticated"}}
	config.Wrap(c.note)
	if wrap != nil {
		config.Wrap(wrap)
	}
	client, err := cluster.NewForConfig(cluster.Endpoint{Name: "test", URL: c.plane.Endpoint}, config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// note keeps what the API server denied.
func (c *Cluster) note(next http.RoundTripper) http.RoundTripper {
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

// statusError is an answer that is no success.
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
