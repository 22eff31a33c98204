package apiserver_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/cluster/lean"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/apiserver"
)

// world is a server whose clock the test sets.
type world struct {
	t      *testing.T
	now    time.Time
	store  *apiserver.Store
	server *apiserver.Server
	lag    time.Duration
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, now: time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)}
	w.store = apiserver.NewStore(func() time.Time { return w.now })
	w.server = apiserver.NewServer(w.store, func() time.Duration { return w.lag })
	w.server.Unknown = func(what string) { t.Errorf("unknown: %s", what) }
	return w
}

// send returns the status and the body of an answer.
func (w *world) send(method, path, body string, headers ...string) (int, []byte) {
	w.t.Helper()
	request := httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response := w.server.Serve(request, []byte(body))
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return response.StatusCode, content
}

func (w *world) patch(path, body string) (int, []byte) {
	w.t.Helper()
	return w.send(http.MethodPatch, path, body, "Content-Type", "application/merge-patch+json")
}

func (w *world) pod(name, node string) {
	w.t.Helper()
	if _, err := w.store.Create(apiserver.Pods, map[string]any{
		"metadata": map[string]any{"name": name, "namespace": "default", "labels": map[string]any{"app": "a"}},
		"spec":     map[string]any{"nodeName": node},
	}); err != nil {
		w.t.Fatal(err)
	}
}

const claims = "/apis/karpenter.sh/v1/nodeclaims"

func TestAWriteWithAnOldVersionConflicts(t *testing.T) {
	w := newWorld(t)
	code, body := w.send(http.MethodPost, claims, `{"metadata":{"generateName":"a-","finalizers":["x/y"]},"spec":{}}`)
	var claim struct {
		Metadata struct{ Name, ResourceVersion string }
	}
	if err := json.Unmarshal(body, &claim); err != nil || code != http.StatusCreated || claim.Metadata.Name == "" {
		t.Fatalf("%d %s %v", code, body, err)
	}
	path := claims + "/" + claim.Metadata.Name
	patch := `{"metadata":{"resourceVersion":"` + claim.Metadata.ResourceVersion + `","labels":{"a":"b"}}}`
	if code, body := w.patch(path, patch); code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	if code, _ := w.patch(path, patch); code != http.StatusConflict {
		t.Errorf("the second patch of a version returns %d", code)
	}
}

func TestAFinalizerHoldsADeletedObject(t *testing.T) {
	w := newWorld(t)
	w.send(http.MethodPost, claims, `{"metadata":{"name":"a","finalizers":["x/y"]},"spec":{}}`)
	if code, body := w.send(http.MethodDelete, claims+"/a", ""); code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	if code, body := w.send(http.MethodGet, claims+"/a", ""); code != http.StatusOK ||
		!strings.Contains(string(body), "deletionTimestamp") {
		t.Fatalf("%d %s", code, body)
	}
	if code, _ := w.patch(claims+"/a", `{"metadata":{"finalizers":["x/y","x/z"]}}`); code != http.StatusUnprocessableEntity {
		t.Errorf("a new finalizer of a deleted object returns %d", code)
	}
	w.patch(claims+"/a", `{"metadata":{"finalizers":[]}}`)
	if code, _ := w.send(http.MethodGet, claims+"/a", ""); code != http.StatusNotFound {
		t.Errorf("an object without finalizers returns %d", code)
	}
}

func TestOnlyTheSubresourceWritesTheStatus(t *testing.T) {
	w := newWorld(t)
	w.send(http.MethodPost, claims, `{"metadata":{"name":"a"},"spec":{}}`)
	w.patch(claims+"/a", `{"status":{"nodeName":"wrong"}}`)
	w.patch(claims+"/a/status", `{"status":{"nodeName":"right"},"metadata":{"labels":{"wrong":"label"}}}`)
	_, body := w.send(http.MethodGet, claims+"/a", "")
	if text := string(body); !strings.Contains(text, "right") || strings.Contains(text, "wrong") {
		t.Errorf("the object is %s", text)
	}
}

func TestCachedReadsLag(t *testing.T) {
	w := newWorld(t)
	w.lag = 10 * time.Second
	w.now = w.now.Add(time.Minute)
	w.pod("a", "n")
	count := func(query string) int {
		_, body := w.send(http.MethodGet, "/api/v1/pods"+query, "")
		var list corev1.PodList
		if err := json.Unmarshal(body, &list); err != nil {
			t.Fatal(err)
		}
		return len(list.Items)
	}
	if cached, now := count("?resourceVersion=0"), count(""); cached != 0 || now != 1 {
		t.Errorf("%d pods in the cache and %d in the store, want 0 and 1", cached, now)
	}
	w.now = w.now.Add(11 * time.Second)
	if cached := count("?resourceVersion=0"); cached != 1 {
		t.Errorf("%d pods in the cache after its lag", cached)
	}
	w.lag = time.Hour
	if cached := count("?resourceVersion=0"); cached != 1 {
		t.Error("the cache has gone back")
	}
}

func TestPagesAreOfOneVersion(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"a", "b", "c"} {
		w.pod(name, "n")
	}
	_, body := w.send(http.MethodGet, "/api/v1/pods?limit=2", "")
	var page corev1.PodList
	if err := json.Unmarshal(body, &page); err != nil || len(page.Items) != 2 || page.Continue == "" {
		t.Fatalf("%s %v", body, err)
	}
	w.pod("d", "n")
	_, body = w.send(http.MethodGet, "/api/v1/pods?limit=2&continue="+page.Continue, "")
	var rest corev1.PodList
	if err := json.Unmarshal(body, &rest); err != nil || len(rest.Items) != 1 || rest.Items[0].Name != "c" ||
		rest.ResourceVersion != page.ResourceVersion {
		t.Errorf("the second page is %s", body)
	}
}

func TestListsInProtocolBuffersAreReadable(t *testing.T) {
	w := newWorld(t)
	w.pod("a", "n")
	const protobuf = "application/vnd.kubernetes.protobuf"
	_, body := w.send(http.MethodGet, "/api/v1/pods", "", "Accept", protobuf)
	pods, meta, err := lean.NewPodDecoder().Page(body)
	if err != nil || len(pods) != 1 || pods[0].Name != "a" || pods[0].Spec.NodeName != "n" || meta.ResourceVersion == "" {
		t.Errorf("%v %v %v", pods, meta, err)
	}
	_, body = w.send(http.MethodGet, "/api/v1/pods", "", "Accept",
		protobuf+";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
	names := ""
	_, err = lean.Identities(body, func(namespace, name, version []byte) {
		names += string(namespace) + "/" + string(name)
	})
	if err != nil || names != "default/a" {
		t.Errorf("identities are %q %v", names, err)
	}
}

func TestAnEvictionObeysTheBudget(t *testing.T) {
	w := newWorld(t)
	w.pod("a", "n")
	if _, err := w.store.Create(apiserver.Budgets, map[string]any{
		"metadata": map[string]any{"name": "a", "namespace": "default"},
		"spec":     map[string]any{"maxUnavailable": 1, "selector": map[string]any{"matchLabels": map[string]any{"app": "a"}}},
		"status":   map[string]any{"disruptionsAllowed": 0, "observedGeneration": 1},
	}); err != nil {
		t.Fatal(err)
	}
	const eviction = `{"kind":"Eviction","apiVersion":"policy/v1","metadata":{"name":"a","namespace":"default"}}`
	if code, body := w.send(http.MethodPost, "/api/v1/namespaces/default/pods/a/eviction", eviction); code !=
		http.StatusTooManyRequests {
		t.Errorf("%d %s", code, body)
	}
}

func TestAPodEndsAfterItsGrace(t *testing.T) {
	w := newWorld(t)
	w.pod("bound", "n")
	w.pod("unbound", "")
	w.send(http.MethodDelete, "/api/v1/namespaces/default/pods/bound", "{}")
	w.send(http.MethodDelete, "/api/v1/namespaces/default/pods/unbound", "{}")
	if pod := w.store.Get(apiserver.Pods, "default", "bound"); pod == nil || pod.Meta.GetDeletionTimestamp() == nil {
		t.Error("a pod on a node does not wait for its kubelet")
	}
	if w.store.Get(apiserver.Pods, "default", "unbound") != nil {
		t.Error("a pod without a node is still there")
	}
}

func TestAWatchContinuesAndNoticesForgottenVersions(t *testing.T) {
	w := newWorld(t)
	w.pod("a", "")
	start := httptest.NewRequest(http.MethodGet,
		"/api/v1/pods?watch=true&resourceVersion=1000&fieldSelector=spec.nodeName%3D", nil)
	watch, past, err := w.server.Watch(start)
	if err != nil || len(past) != 1 || !strings.Contains(string(past[0]), `"ADDED"`) {
		t.Fatalf("%s %v", past, err)
	}
	var event []byte
	w.store.Listen(func(change apiserver.Change) { event = watch.Event(change) })
	apiserver.Update(w.store, apiserver.Pods, "default", "a", func(pod *corev1.Pod) bool {
		pod.Spec.NodeName = "n"
		return true
	})
	if !strings.Contains(string(event), `"DELETED"`) {
		t.Errorf("a pod that leaves the selection is %s", event)
	}
	for range 30 {
		w.now = w.now.Add(time.Minute)
		w.pod("p"+w.now.Format("1504"), "")
	}
	if _, _, err := w.server.Watch(start); err == nil || !strings.Contains(err.Error(), "too old") {
		t.Errorf("a forgotten version returns %v", err)
	}
}
