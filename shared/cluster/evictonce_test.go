package cluster_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/whittle-dev/whittle/shared/cluster"
)

// refusing answers each request as an API server does for a budget that is not computed yet.
type refusing struct{ requests int }

func (r *refusing) RoundTrip(request *http.Request) (*http.Response, error) {
	r.requests++
	body := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429,"message":` +
		`"Cannot evict pod as it would violate the pod's disruption budget."}`
	header := http.Header{"Content-Type": {"application/json"}, "Retry-After": {"10"}}
	return &http.Response{
		StatusCode: http.StatusTooManyRequests, Header: header, Body: io.NopCloser(strings.NewReader(body)), Request: request,
	}, nil
}

// TestARefusedEvictionIsAnAnswer has an API server that names a time for the next try. The client asks once.
func TestARefusedEvictionIsAnAnswer(t *testing.T) {
	server := &refusing{}
	client, err := cluster.NewForConfig(cluster.Endpoint{}, &rest.Config{Host: "http://127.0.0.1", Transport: server})
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u"}}
	if err := client.Evict(t.Context(), pod); !cluster.IsEvictionRefused(err) || server.requests != 1 {
		t.Errorf("after %d requests: %v", server.requests, err)
	}
}
