package scale

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	podsPath  = "/api/v1/pods"
	protobuf  = "application/vnd.kubernetes.protobuf"
	metadata  = "as=PartialObjectMetadataList"
	onNode    = "spec.nodeName="
	tokenHead = "fake:"
)

// APIServer is a fake that lists pods, before a real API server that answers everything else. Its
// list of all pods has the fake's pods and then the real ones. Like the real one, it answers page by
// page with continue tokens, compresses long answers, and ignores the page size for a list with
// resourceVersion 0. It lists pods or their metadata. It knows Protocol Buffers only, and answers at
// once.
type APIServer struct {
	server *httptest.Server
	target *url.URL
	trust  http.RoundTripper

	mutex   sync.Mutex
	pods    *pods
	changes int // of the pods
}

// pods are the encoded pods of one moment.
type pods struct {
	whole, metadata items
	onNode          map[string][]int
}

// items are encoded objects.
type items struct {
	all  []byte // items of a list, one after the other
	ends []int  // where each item ends
	// compressed are chunks of compressedItems items, since the compression of a whole list would
	// delay the first answer.
	compressed [][]byte
}

// compressedItems is the number of pods in one compressed chunk: a page of Whittle's lists.
const compressedItems = 500

// Start opens the fake before the API server at the address. It has no pods of its own yet.
func Start(address string, authority []byte) (*APIServer, error) {
	target, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		return nil, errors.New("the API server's authority is no PEM certificate")
	}
	trust := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
	}
	a := &APIServer{target: target, trust: trust, pods: &pods{}}
	proxy := &httputil.ReverseProxy{
		Transport: trust, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		// Watches break when the world ends.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	a.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != podsPath || !a.serves(r.URL.Query()) {
			proxy.ServeHTTP(w, r)
			return
		}
		if err := a.list(w, r); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
	a.server.EnableHTTP2 = true
	a.server.StartTLS()
	return a, nil
}

// Address is the fake's URL.
func (a *APIServer) Address() string { return a.server.URL }

// Authority is the fake's certificate in PEM.
func (a *APIServer) Authority() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.server.Certificate().Raw})
}

// Close ends the fake. Answers under way are cut off.
func (a *APIServer) Close() error {
	a.server.CloseClientConnections()
	a.server.Close()
	return nil
}

// SetPods replaces the fake's pods by those of each node, in order. It encodes them before it
// returns.
func (a *APIServer) SetPods(nodes []string, perNode func(node int) int) error {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.changes++
	made := &pods{onNode: map[string][]int{}}
	for at, node := range nodes {
		for range perNode(at) {
			pod := Pod(len(made.whole.ends), node)
			pod.ResourceVersion = strconv.Itoa(a.changes)
			made.onNode[node] = append(made.onNode[node], len(made.whole.ends))
			err := errors.Join(made.whole.add(pod), made.metadata.add(metadataOf(pod)))
			if err != nil {
				return err
			}
		}
	}
	a.pods = made
	return errors.Join(made.whole.compress(), made.metadata.compress())
}

// metadataOf is the pod in a list of metadata.
func metadataOf(pod *corev1.Pod) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: pod.ObjectMeta}
}

// add encodes an object.
func (i *items) add(object interface{ Marshal() ([]byte, error) }) error {
	encoded, err := object.Marshal()
	i.all = appendField(i.all, 2, encoded)
	i.ends = append(i.ends, len(i.all))
	return err
}

// compress makes the chunks.
func (i *items) compress() error {
	for first := 0; first < len(i.ends); first += compressedItems {
		chunk, err := compress(i.between(first, min(first+compressedItems, len(i.ends))))
		if err != nil {
			return err
		}
		i.compressed = append(i.compressed, chunk)
	}
	return nil
}

// between are the encoded objects from the first to before the last.
func (i *items) between(first, last int) []byte {
	begin := 0
	if first > 0 {
		begin = i.ends[first-1]
	}
	if last == 0 {
		return nil
	}
	return i.all[begin:i.ends[last-1]]
}

// serves reports whether the fake answers the list: all pods, or those of one of its nodes.
func (a *APIServer) serves(query url.Values) bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if len(a.pods.whole.ends) == 0 || query.Has("watch") || query.Has("labelSelector") {
		return false
	}
	selector := query.Get("fieldSelector")
	node, of := strings.CutPrefix(selector, onNode)
	return selector == "" || of && a.pods.onNode[node] != nil
}

// list answers a list of pods.
func (a *APIServer) list(w http.ResponseWriter, r *http.Request) error {
	if !strings.Contains(r.Header.Get("Accept"), protobuf) {
		return fmt.Errorf("the fake API server lists pods in %s only", protobuf)
	}
	a.mutex.Lock()
	known := a.pods
	a.mutex.Unlock()
	query := r.URL.Query()
	if node, of := strings.CutPrefix(query.Get("fieldSelector"), onNode); of {
		var items []byte
		for _, at := range known.onNode[node] {
			items = append(items, known.whole.between(at, at+1)...)
		}
		return answer(w, r, metav1.ListMeta{ResourceVersion: "1"}, items, nil)
	}
	first, version, err := parseToken(query.Get("continue"))
	if err != nil {
		return err
	}
	var others []byte
	if version == "" {
		var real corev1.PodList
		if err := a.real(r, &real); err != nil {
			return err
		}
		version = real.ResourceVersion
	}
	listed := &known.whole
	if strings.Contains(r.Header.Get("Accept"), metadata) {
		listed = &known.metadata
	}
	last := len(listed.ends)
	if limit, err := strconv.Atoi(query.Get("limit")); err == nil && query.Get("resourceVersion") != "0" {
		last = min(last, first+limit)
	}
	meta := metav1.ListMeta{ResourceVersion: version}
	if last < len(listed.ends) {
		meta.Continue = fmt.Sprintf("%s%d:%s", tokenHead, last, version)
	} else if others, err = a.others(r); err != nil {
		return err
	}
	var compressed [][]byte
	if first%compressedItems == 0 && (last%compressedItems == 0 || last == len(listed.ends)) {
		compressed = listed.compressed[first/compressedItems : (last+compressedItems-1)/compressedItems]
	}
	return answer(w, r, meta, listed.between(first, last), compressed, others...)
}

// others are the encoded pods of the real API server, or their metadata.
func (a *APIServer) others(r *http.Request) ([]byte, error) {
	var real corev1.PodList
	err := a.real(r, &real)
	if err != nil {
		return nil, err
	}
	var found items
	for i := range real.Items {
		pod := &real.Items[i]
		if strings.Contains(r.Header.Get("Accept"), metadata) {
			err = errors.Join(err, found.add(metadataOf(pod)))
		} else {
			err = errors.Join(err, found.add(pod))
		}
	}
	return found.all, err
}

// real lists the pods of the real API server, with the caller's rights.
func (a *APIServer) real(r *http.Request, into *corev1.PodList) error {
	request, err := http.NewRequestWithContext(r.Context(), http.MethodGet, a.target.String()+podsPath, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", r.Header.Get("Authorization"))
	request.Header.Set("Accept", protobuf)
	response, err := a.trust.RoundTrip(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	var body bytes.Buffer
	if _, err := body.ReadFrom(response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the API server answers %s", response.Status)
	}
	var envelope runtime.Unknown
	content, found := bytes.CutPrefix(body.Bytes(), []byte("k8s\x00"))
	if !found {
		return errors.New("the API server's list of pods is not in Protocol Buffers")
	}
	if err := envelope.Unmarshal(content); err != nil {
		return err
	}
	return into.Unmarshal(envelope.Raw)
}

func parseToken(token string) (first int, version string, err error) {
	if token == "" {
		return 0, "", nil
	}
	at, version, found := strings.Cut(strings.TrimPrefix(token, tokenHead), ":")
	if first, err = strconv.Atoi(at); err != nil || !found {
		return 0, "", fmt.Errorf("%q is no continue token of the fake API server", token)
	}
	return first, version, nil
}

// answer writes a PodList: its metadata, the items, and more items. compressed are the items in
// compressed chunks, nil where there are none.
func answer(
	w http.ResponseWriter, r *http.Request, meta metav1.ListMeta, items []byte, compressed [][]byte, more ...byte,
) error {
	encoded, err := meta.Marshal()
	if err != nil {
		return err
	}
	list := appendField(nil, 1, encoded)
	kind, err := (&runtime.TypeMeta{APIVersion: "v1", Kind: "PodList"}).Marshal()
	if err != nil {
		return err
	}
	head := append([]byte("k8s\x00"), appendField(nil, 1, kind)...)
	head = appendHead(head, 2, len(list)+len(items)+len(more))
	head = append(head, list...)
	w.Header().Set("Content-Type", protobuf)
	pieces := [][]byte{head, items, more}
	if compressed != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		begin, err := compress(head)
		if err != nil {
			return err
		}
		end, err := compress(more)
		if err != nil {
			return err
		}
		pieces = append(append([][]byte{begin}, compressed...), end)
	}
	for _, piece := range pieces {
		if _, err := w.Write(piece); err != nil {
			return nil // the caller has gone
		}
	}
	return nil
}

// compress returns a member of a gzip file, at the API server's level.
func compress(content []byte) ([]byte, error) {
	var out bytes.Buffer
	writer, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := writer.Write(content); err != nil {
		return nil, err
	}
	err = writer.Close()
	return out.Bytes(), err
}

// appendField appends a field of Protocol Buffers that has a length.
func appendField(to []byte, number int, content []byte) []byte {
	return append(appendHead(to, number, len(content)), content...)
}

func appendHead(to []byte, number, length int) []byte {
	to = binary.AppendUvarint(to, uint64(number)<<3|2)
	return binary.AppendUvarint(to, uint64(length))
}
