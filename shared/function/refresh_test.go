package function

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAnUpgradeOfTheClusterIsSeenByAWarmContainer(t *testing.T) {
	bundle := base64.StdEncoding.EncodeToString([]byte(authority(t)))
	upgraded := func(w http.ResponseWriter) {
		fmt.Fprintf(
			w,
			`{"cluster": {"endpoint": "https://prod.example.com", "version": "1.37", "certificateAuthority": {"data": %q}}}`,
			bundle,
		)
	}
	config, calls := eksAnswers(t, active(bundle), active(bundle), gone, upgraded)
	connection := (Deps{}).Connection(config, "prod")
	now := time.Now()
	connection.now = func() time.Time { return now }
	client := func(want string, asked int64) any {
		t.Helper()
		client, err := connection.Client(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if client.Endpoint.Version != want || calls.Load() != asked {
			t.Errorf("version %s after %d questions, want %s after %d", client.Endpoint.Version, calls.Load(), want, asked)
		}
		return client
	}
	first := client("1.36", 1)
	now = now.Add(refreshAfter)
	if client("1.36", 2) != first {
		t.Error("connections are given up though nothing has changed")
	}
	now = now.Add(refreshAfter)
	client("1.36", 3) // EKS does not answer as it should: what was known serves on
	client("1.37", 4)
	client("1.37", 4)
}

// TestAnotherEndpointHasAnotherCache: what was read from one endpoint is not compared with another.
func TestAnotherEndpointHasAnotherCache(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128")
	var seen []string
	// apiServer lists 100 nodes, and makes no lists of metadata.
	apiServer := func(name string) func(http.ResponseWriter) {
		items := strings.Repeat(`{"metadata":{"name":"node"}},`, 99) + `{"metadata":{"name":"node"}}`
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList") {
				seen = append(seen, name+" compares")
				w.WriteHeader(http.StatusNotAcceptable)
				return
			}
			seen = append(seen, name+" lists")
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[%s]}`, items)
		}))
		t.Cleanup(server.Close)
		return func(w http.ResponseWriter) {
			authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
			fmt.Fprintf(w, `{"cluster": {"endpoint": %q, "certificateAuthority": {"data": %q}}}`, server.URL,
				base64.StdEncoding.EncodeToString(authority))
		}
	}
	first := apiServer("first")
	second := apiServer("second")
	config, _ := eksAnswers(t, first, second)
	connection, now := (Deps{}).Connection(config, "prod"), time.Now()
	connection.now = func() time.Time { return now }
	for range 3 {
		client, err := connection.Client(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if nodes, err := client.Nodes(t.Context()); err != nil || len(nodes) != 100 {
			t.Fatalf("%d nodes, %v", len(nodes), err)
		}
		now = now.Add(refreshAfter * 2 / 3)
	}
	want := []string{"first lists", "first compares", "first lists", "second lists"}
	if !slices.Equal(seen, want) {
		t.Errorf("the API servers saw %q, want %q", seen, want)
	}
}
