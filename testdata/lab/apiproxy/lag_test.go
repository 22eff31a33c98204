package apiproxy

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// store is an API server that keeps the versions 7 and later, and answers a list with what was asked.
type store struct{ queries []string }

func (s *store) RoundTrip(request *http.Request) (*http.Response, error) {
	asked := request.URL.Path + "?" + request.URL.Query().Encode()
	s.queries = append(s.queries, asked)
	status, body := http.StatusOK, ""
	switch version := request.URL.Query().Get("resourceVersion"); {
	case version == "3":
		status = http.StatusGone
	case strings.Contains(asked, "metadata.name%3Dgone"):
		body = `{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}`
	default:
		body = `{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"9"},` +
			`"items":[{"metadata":{"name":"one"}}]}`
	}
	return &http.Response{StatusCode: status, Status: fmt.Sprint(status), Body: io.NopCloser(strings.NewReader(body))}, nil
}

func TestReadsFromTheWatchCacheShowAnEarlierVersion(t *testing.T) {
	const exact = "resourceVersion=7&resourceVersionMatch=Exact"
	for _, test := range []struct{ name, method, path, shown, want string }{
		{"a list", "GET", "/api/v1/pods?resourceVersion=0&limit=500", "7", "/api/v1/pods?limit=500&" + exact},
		{
			"a list of a namespace", "GET", "/apis/apps/v1/namespaces/kube-system/daemonsets?resourceVersion=0", "7",
			"/apis/apps/v1/namespaces/kube-system/daemonsets?" + exact,
		},
		{
			"an object", "GET", "/api/v1/nodes/one?resourceVersion=0", "7",
			"/api/v1/nodes?fieldSelector=metadata.name%3Done&" + exact,
		},
		{
			"an object of a namespace", "GET", "/api/v1/namespaces/a/configmaps/one?resourceVersion=0", "7",
			"/api/v1/namespaces/a/configmaps?fieldSelector=metadata.name%3Done&" + exact,
		},
		{"a namespace", "GET", "/api/v1/namespaces/a?resourceVersion=0", "7",
			"/api/v1/namespaces?fieldSelector=metadata.name%3Da&" + exact},
		{"before Show", "GET", "/api/v1/pods?resourceVersion=0", "", "/api/v1/pods?resourceVersion=0"},
		{"a consistent list", "GET", "/api/v1/pods?limit=500", "7", "/api/v1/pods?limit=500"},
		{"a later page", "GET", "/api/v1/pods?continue=token", "7", "/api/v1/pods?continue=token"},
		{"a consistent object", "GET", "/api/v1/nodes/one", "7", "/api/v1/nodes/one?"},
		{"a watch", "GET", "/api/v1/pods?resourceVersion=0&watch=true", "7", "/api/v1/pods?resourceVersion=0&watch=true"},
		{"a write", "PATCH", "/api/v1/nodes/one", "7", "/api/v1/nodes/one?"},
		{"a version that the store has lost", "GET", "/api/v1/pods?resourceVersion=0", "3", "/api/v1/pods?resourceVersion=0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := &store{}
			lag := newLag(t, server)
			lag.Show(test.shown)
			send(t, lag, test.method, test.path)
			if got := server.queries[len(server.queries)-1]; got != test.want {
				t.Errorf("the API server was asked for %s, want %s", got, test.want)
			}
		})
	}
}

func TestAnEarlierObject(t *testing.T) {
	lag := newLag(t, &store{})
	lag.Show("7")
	var node struct {
		APIVersion, Kind string
		Metadata         struct{ Name string }
	}
	status, body := send(t, lag, "GET", "/api/v1/nodes/one?resourceVersion=0")
	if err := json.Unmarshal(body, &node); err != nil || status != http.StatusOK ||
		node.APIVersion != "v1" || node.Kind != "Node" || node.Metadata.Name != "one" {
		t.Errorf("status %d: %+v, %v", status, node, err)
	}
	if status, _ = send(t, lag, "GET", "/api/v1/nodes/gone?resourceVersion=0"); status != http.StatusNotFound {
		t.Errorf("a node that was not there yet: status %d", status)
	}
	if lag.Answered() != 2 {
		t.Errorf("%d answers showed an earlier version", lag.Answered())
	}
}

func TestThePresentVersion(t *testing.T) {
	if version, err := newLag(t, &store{}).Present(t.Context()); err != nil || version != "9" {
		t.Errorf("version %q, %v", version, err)
	}
}

func newLag(t *testing.T, server http.RoundTripper) *Lag {
	t.Helper()
	at, err := url.Parse("https://cluster.invalid")
	if err != nil {
		t.Fatal(err)
	}
	return NewLag(server, at)
}

// send returns the status and the body of the answer to a request through the proxy.
func send(t *testing.T, lag *Lag, method, path string) (status int, body []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "https://cluster.invalid"+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := lag.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if body, err = io.ReadAll(response.Body); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, body
}
