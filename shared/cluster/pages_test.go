package cluster_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/whittle-dev/whittle/shared/cluster"
)

// paged is a fake API server with pages of two nodes each, which fails as its fields say.
type paged struct {
	nodes int
	// expire is how many tokens are refused as too old.
	expire int
	// endless never ends a list.
	endless  bool
	requests []string
}

func (p *paged) RoundTrip(request *http.Request) (*http.Response, error) {
	query := request.URL.Query()
	p.requests = append(p.requests, query.Get("continue")+"/"+query.Get("limit")+"/"+query.Get("resourceVersion"))
	from := 0
	if token := query.Get("continue"); token != "" {
		if p.expire > 0 {
			p.expire--
			return answer(http.StatusGone, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired",`+
				`"message":"the provided continue parameter is too old","code":410}`), nil
		}
		if _, err := fmt.Sscanf(token, "from-%d", &from); err != nil {
			return nil, err
		}
	}
	var items []string
	for i := from; i < min(from+2, p.nodes); i++ {
		items = append(items, fmt.Sprintf(`{"metadata":{"name":"node-%d","managedFields":[{"manager":"kubelet"}]},`+
			`"status":{"images":[{"names":["busybox"]}]}}`, i))
	}
	token := ""
	if from+2 < p.nodes || p.endless {
		token = fmt.Sprintf("from-%d", from+2)
	}
	return answer(http.StatusOK, fmt.Sprintf(`{"kind":"NodeList","apiVersion":"v1",`+
		`"metadata":{"resourceVersion":"7","continue":%q},"items":[%s]}`, token, strings.Join(items, ","))), nil
}

func answer(status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": []string{"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)),
	}
}

func clientOf(t *testing.T, transport http.RoundTripper) *cluster.Client {
	t.Helper()
	client, err := cluster.NewForConfig(cluster.Endpoint{Name: "test", URL: "https://cluster.invalid"},
		&rest.Config{Host: "https://cluster.invalid", Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestListsComePageByPage(t *testing.T) {
	for _, test := range []struct {
		name            string
		nodes, expire   int
		requests, found int
		fails           bool
	}{
		{name: "none", requests: 1},
		{name: "one page", nodes: 2, requests: 1, found: 2},
		{name: "three pages", nodes: 5, requests: 3, found: 5},
		{name: "a version that expires is read anew", nodes: 5, expire: 1, requests: 5, found: 5},
		{name: "a version that always expires", nodes: 5, expire: 100, requests: 6, fails: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := &paged{nodes: test.nodes, expire: test.expire}
			nodes, err := clientOf(t, server).Nodes(t.Context())
			if (err != nil) != test.fails || len(nodes) != test.found || len(server.requests) != test.requests {
				t.Fatalf("%d nodes after the requests %q, %v", len(nodes), server.requests, err)
			}
			for i := range nodes {
				if nodes[i].Name != fmt.Sprintf("node-%d", i) || nodes[i].ManagedFields != nil || nodes[i].Status.Images != nil {
					t.Errorf("node %d is %+v", i, nodes[i])
				}
			}
			for _, request := range server.requests {
				if !strings.HasSuffix(request, "/500/") {
					t.Errorf("the request %q has no limit, or a version", request)
				}
			}
		})
	}
}

// TestLargeKindsAreListedPageByPage: with resourceVersion 0 an API server ignores the page size.
func TestLargeKindsAreListedPageByPage(t *testing.T) {
	server := &empty{}
	client := clientOf(t, server)
	for _, list := range []func() error{
		func() error { _, err := client.Pods(t.Context()); return err },
		func() error { _, err := client.NodeClaims(t.Context()); return err },
		func() error { _, err := client.PersistentVolumeClaims(t.Context()); return err },
		func() error { _, err := client.PersistentVolumes(t.Context()); return err },
		func() error { _, err := client.CSINodes(t.Context()); return err },
	} {
		server.query = nil
		if err := list(); err != nil || server.query.Get("limit") != "500" || server.query.Get("resourceVersion") != "" {
			t.Errorf("%s: the request has the parameters %v, %v", server.path, server.query, err)
		}
	}
}

// empty is a fake API server without objects. It notes the last request.
type empty struct {
	path  string
	query url.Values
}

func (e *empty) RoundTrip(request *http.Request) (*http.Response, error) {
	e.path, e.query = request.URL.Path, request.URL.Query()
	kinds := map[string]string{
		"pods": "v1 PodList", "nodeclaims": "karpenter.sh/v1 NodeClaimList", "csinodes": "storage.k8s.io/v1 CSINodeList",
		"persistentvolumeclaims": "v1 PersistentVolumeClaimList", "persistentvolumes": "v1 PersistentVolumeList",
	}
	version, kind, _ := strings.Cut(kinds[path.Base(e.path)], " ")
	return answer(http.StatusOK, fmt.Sprintf(`{"kind":%q,"apiVersion":%q,"items":[]}`, kind, version)), nil
}

func TestAnEndlessListEnds(t *testing.T) {
	server := &paged{nodes: 1, endless: true}
	if _, err := clientOf(t, server).Nodes(t.Context()); err == nil || !strings.Contains(err.Error(), "pages") {
		t.Errorf("the error is %v after %d requests", err, len(server.requests))
	}
}
