package cluster_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/testdata/lab/scale"
)

// listOf is a list of encoded objects at version 7, compressed as the API server does it.
func listOf(items [][]byte, next string) []byte {
	field := func(to []byte, number int, content []byte) []byte {
		to = binary.AppendUvarint(binary.AppendUvarint(to, uint64(number)<<3|2), uint64(len(content)))
		return append(to, content...)
	}
	meta, _ := (&metav1.ListMeta{ResourceVersion: "7", Continue: next}).Marshal()
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

// BenchmarkUnchangedPods lists 10,000 pods again that have not changed, in five pages, and reports the processor
// time of the client for each page. The API server is a fake with answers that are ready.
func BenchmarkUnchangedPods(b *testing.B) {
	var whole, identities [][]byte
	for i := range 10_000 {
		pod := scale.Pod(i, "node")
		encoded, _ := pod.Marshal()
		whole = append(whole, encoded)
		encoded, _ = (&metav1.PartialObjectMetadata{ObjectMeta: pod.ObjectMeta}).Marshal()
		identities = append(identities, encoded)
	}
	full, pages := listOf(whole, ""), map[string][]byte{}
	for page := range 5 {
		token, next := "", strconv.Itoa(page+1)
		if page > 0 {
			token = strconv.Itoa(page)
		}
		if page == 4 {
			next = ""
		}
		pages[token] = listOf(identities[2000*page:2000*(page+1)], next)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := full
		if strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList") {
			answer = pages[r.URL.Query().Get("continue")]
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
	b.ReportMetric(float64((processor()-begin).Microseconds())/float64(5*b.N)/1000, "cpu-ms/page")
}
