package cluster_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/testdata/lab/scale"
)

// listOf is a list of encoded objects at version 7, compressed as the API server does it.
func listOf(items [][]byte) []byte {
	field := func(to []byte, number int, content []byte) []byte {
		to = binary.AppendUvarint(binary.AppendUvarint(to, uint64(number)<<3|2), uint64(len(content)))
		return append(to, content...)
	}
	meta, _ := (&metav1.ListMeta{ResourceVersion: "7"}).Marshal()
	list := field(nil, 1, meta)
	for _, item := range items {
		list = field(list, 2, item)
	}
	var compressed bytes.Buffer
	writer, _ := gzip.NewWriterLevel(&compressed, gzip.BestSpeed)
	_, _ = writer.Write(append([]byte("k8s\x00"), field(nil, 2, list)...))
	_ = writer.Close()
	return compressed.Bytes()
}

// BenchmarkUnchangedPods lists 2,000 pods again that have not changed, and reports the client's processor time.
// The API server is a fake without one of its own: its answers are ready.
func BenchmarkUnchangedPods(b *testing.B) {
	var whole, identities [][]byte
	for i := range 2000 {
		pod := scale.Pod(i, "node")
		encoded, _ := pod.Marshal()
		whole = append(whole, encoded)
		encoded, _ = (&metav1.PartialObjectMetadata{ObjectMeta: pod.ObjectMeta}).Marshal()
		identities = append(identities, encoded)
	}
	full, known := listOf(whole), listOf(identities)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := full
		if strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList") {
			answer = known
		}
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(answer)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	config := &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: -1}
	client, err := cluster.NewForConfig(cluster.Endpoint{Name: "prod"}, config)
	if err != nil {
		b.Fatal(err)
	}
	client = client.WithCache(cluster.NewCache(enough, time.Now))
	list := func() {
		if pods, err := client.Pods(b.Context()); err != nil || len(pods) != len(whole) {
			b.Fatal(len(pods), err)
		}
	}
	list()
	begin := processor()
	b.ReportAllocs()
	for b.Loop() {
		list()
	}
	b.ReportMetric(float64((processor()-begin).Microseconds())/float64(b.N)/1000, "cpu-ms/op")
}
