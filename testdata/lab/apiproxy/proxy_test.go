package apiproxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

func TestAProxyShowsWhatWasSomeTimeAgo(t *testing.T) {
	var version atomic.Int64
	version.Store(100)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		switch {
		case request.URL.Path == "/api/v1/namespaces":
			_, _ = fmt.Fprintf(w, `{"metadata":{"resourceVersion":"%d"}}`, version.Load())
		default:
			_, _ = fmt.Fprint(w, request.Header.Get("Authorization"), " ", request.URL.Query().Get("resourceVersion"))
		}
	}))
	defer server.Close()
	admin := &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}, BearerToken: "admin's"}
	proxy, err := Serve(admin, Options{Behind: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	}()
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(proxy.Authority)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities}}}
	read := func(path string) string {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, proxy.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer function's")
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	if got := read("/api/v1/pods?resourceVersion=5"); got != "Bearer function's 5" {
		t.Errorf("a read of a version: %q", got)
	}
	shows := func(answer string) func() bool {
		return func() bool { return read("/api/v1/pods?resourceVersion=0") == answer }
	}
	until(t, "the proxy knows a version", shows("Bearer function's 100"))
	version.Store(200)
	until(t, "the proxy moves on", shows("Bearer function's 200"))
	if proxy.Answered() < 2 {
		t.Errorf("%d answers showed an earlier version", proxy.Answered())
	}
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !is() {
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("after a minute it is not so that %s", what)
		}
	}
}
