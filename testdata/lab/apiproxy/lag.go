package apiproxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
)

// Lag is a transport to an API server whose watch cache lags. It is safe for concurrent use.
type Lag struct {
	next   http.RoundTripper
	server *url.URL

	mutex    sync.Mutex
	shown    string
	answered int
}

// NewLag returns a transport through next to the API server at the URL. Its watch cache shows the
// present until Show sets a version.
func NewLag(next http.RoundTripper, server *url.URL) *Lag { return &Lag{next: next, server: server} }

// Present returns the API server's present version. Its errors are those of a read.
func (l *Lag) Present(ctx context.Context) (string, error) {
	at := l.server.JoinPath("/api/v1/namespaces")
	at.RawQuery = "limit=1"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), http.NoBody)
	if err != nil {
		return "", err
	}
	var list struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if err := l.read(request, &list); err != nil {
		return "", fmt.Errorf("reading the API server's version: %w", err)
	}
	return list.Metadata.ResourceVersion, nil
}

// Show makes the watch cache as old as the version. An empty version means the present.
func (l *Lag) Show(version string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.shown = version
}

// Answered returns how many reads were answered with an earlier version.
func (l *Lag) Answered() int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.answered
}

// RoundTrip answers a read from the watch cache with the version that Show has set. If the store
// has lost that version, the answer shows the present. Other requests pass unchanged.
func (l *Lag) RoundTrip(request *http.Request) (*http.Response, error) {
	l.mutex.Lock()
	shown := l.shown
	l.mutex.Unlock()
	query := request.URL.Query()
	if shown == "" || request.Method != http.MethodGet || query.Get("resourceVersion") != "0" || query.Get("watch") != "" {
		return l.next.RoundTrip(request)
	}
	if collection, name := split(request.URL.Path); name != "" {
		return l.object(request, collection, name, shown)
	}
	response, err := l.next.RoundTrip(exactly(request, request.URL.Path, shown, nil))
	if err == nil && response.StatusCode == http.StatusGone {
		_ = response.Body.Close()
		return l.next.RoundTrip(request)
	}
	l.count()
	return response, err
}

func (l *Lag) count() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.answered++
}

// object answers the read of one object by a list, because an API server shows one object only as
// of now. https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-get-and-list
func (l *Lag) object(request *http.Request, collection, name, shown string) (*http.Response, error) {
	listing := exactly(request, collection, shown, url.Values{"fieldSelector": {"metadata.name=" + name}})
	listing.Header.Set("Accept", "application/json")
	var list struct {
		APIVersion string           `json:"apiVersion"`
		Kind       string           `json:"kind"`
		Items      []map[string]any `json:"items"`
	}
	if err := l.read(listing, &list); err != nil {
		return l.next.RoundTrip(request) // the API server says itself what is wrong
	}
	l.count()
	if len(list.Items) == 0 {
		return answer(request, http.StatusNotFound, map[string]any{
			"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "NotFound", "code": http.StatusNotFound,
			"message": fmt.Sprintf("%q not found", name),
		})
	}
	found := list.Items[0]
	found["apiVersion"], found["kind"] = list.APIVersion, strings.TrimSuffix(list.Kind, "List")
	return answer(request, http.StatusOK, found)
}

// read sends a request and decodes the JSON of its answer.
func (l *Lag) read(request *http.Request, into any) error {
	response, err := l.next.RoundTrip(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", request.Method, request.URL.Path, response.Status)
	}
	return json.NewDecoder(response.Body).Decode(into)
}

// exactly returns the request as a list at the path of the version.
func exactly(request *http.Request, path, version string, more url.Values) *http.Request {
	listing := request.Clone(request.Context())
	listing.URL.Path, listing.URL.RawPath = path, ""
	query := listing.URL.Query()
	query.Set("resourceVersion", version)
	query.Set("resourceVersionMatch", "Exact")
	for key, values := range more {
		query[key] = values
	}
	listing.URL.RawQuery = query.Encode()
	return listing
}

func answer(request *http.Request, status int, content any) (*http.Response, error) {
	body, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: status, Status: strconv.Itoa(status) + " " + http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1,
		ProtoMinor: 1, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)), Request: request,
	}, nil
}

// split returns the path of a collection and the name of the object in it that the path is of. The
// name is empty for the path of a collection.
func split(path string) (collection, name string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	first := 3 // apis, group, version
	if parts[0] == "api" {
		first = 2
	}
	if len(parts) > first+2 && parts[first] == "namespaces" {
		first += 2
	}
	if len(parts) != first+2 {
		return path, ""
	}
	return "/" + strings.Join(parts[:len(parts)-1], "/"), parts[len(parts)-1]
}
