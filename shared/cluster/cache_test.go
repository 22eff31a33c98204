package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
)

// enough is a limit that no test reaches.
const enough = 1 << 30

// lister lists a kind, like described.
type lister func(context.Context) (map[string]string, error)

// keptKind is a list of a kind that a cache keeps, with the namespaces of its objects.
type keptKind struct {
	list       lister
	namespaces []string
}

// kinds are the kinds that a cache keeps.
func kinds(client *cluster.Client) map[string]keptKind {
	return map[string]keptKind{
		// In etcd's order the objects of a-b come before those of a.
		"pods": {listerOf(client.Pods, func(pod *corev1.Pod) *metav1.ObjectMeta { return &pod.ObjectMeta }),
			[]string{"a", "a-b", "b"}},
		"nodes": {listerOf(client.Nodes, func(node *corev1.Node) *metav1.ObjectMeta { return &node.ObjectMeta }), []string{""}},
		"nodeclaims": {listerOf(client.NodeClaims, func(claim *api.NodeClaim) *metav1.ObjectMeta { return &claim.ObjectMeta }),
			[]string{""}},
	}
}

func listerOf[T any](list func(context.Context) ([]T, error), meta func(*T) *metav1.ObjectMeta) lister {
	return func(ctx context.Context) (map[string]string, error) {
		found, err := list(ctx)
		if !slices.IsSortedFunc(found, func(a, b T) int { return strings.Compare(key(meta(&a)), key(meta(&b))) }) {
			return nil, errors.New("the objects are not in the order of a list")
		}
		return described(found, meta), err
	}
}

// warm returns a client of the server with a cache.
func warm(t *testing.T, server http.RoundTripper, limit int, now func() time.Time) *cluster.Client {
	t.Helper()
	return clientOf(t, server).WithCache(cluster.NewCache(limit, now))
}

// TestAWarmListIsAFullList: after any sequence of changes, also within a list, a list with a cache is
// the collection at one version, which is no older than the list's beginning.
func TestAWarmListIsAFullList(t *testing.T) {
	for name := range kinds(clientOf(t, &empty{})) {
		for seed := range uint64(2) {
			t.Run(fmt.Sprintf("%s/%d", name, seed), func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 1))
				server := newVersioned(0)
				kind := kinds(warm(t, server, enough, time.Now))[name]
				step := func() { randomStep(random, server, kind.namespaces) }
				for range 300 {
					server.set(kind.namespaces[0], fmt.Sprintf("object-%d", random.IntN(1000)), "first")
				}
				server.meanwhile = func() {
					for random.IntN(2) == 0 {
						step()
					}
				}
				caught := 0
				for range 60 {
					for range random.IntN(12) {
						step()
					}
					begin := server.version
					got := objectsOf(t, kind.list)
					if server.listed < begin || !maps.Equal(got, server.at(server.listed)) {
						t.Fatalf("version %d is listed, not before %d, as %d objects: %v", server.listed, begin, len(got), got)
					}
					if !strings.Contains(server.forms(), "list") {
						caught++
					}
				}
				if caught < 30 {
					t.Errorf("%d lists caught up", caught)
				}
			})
		}
	}
}

// randomStep creates, updates, deletes or replaces an object.
func randomStep(random *rand.Rand, server *versioned, namespaces []string) {
	namespace, name := namespaces[random.IntN(len(namespaces))], fmt.Sprintf("object-%d", random.IntN(1000))
	switch count := len(server.objects); {
	case count > 0 && random.IntN(4) == 0:
		server.remove(random.IntN(count))
	case count > 0 && random.IntN(2) == 0:
		at := server.objects[random.IntN(count)]
		server.set(at.Namespace, at.Name, fmt.Sprint(random.Int()))
	default:
		server.set(namespace, name, fmt.Sprint(random.Int()))
	}
}

// TestAnyDoubtLeadsToAFullList: whatever goes wrong in catching up, a full list follows.
func TestAnyDoubtLeadsToAFullList(t *testing.T) {
	wrong := func(kind string) *http.Response {
		response, _ := protobuf(kind, &corev1.NodeList{})
		return response
	}
	for _, test := range []struct {
		name, form string
		answer     func(*versioned, *http.Request) (*http.Response, error)
	}{
		{"an expired version of the identities", "identities",
			func(*versioned, *http.Request) (*http.Response, error) { return expired(), nil }},
		{"an expired version of an object", "object",
			func(*versioned, *http.Request) (*http.Response, error) { return expired(), nil }},
		{"identities that are cut", "identities", func(s *versioned, r *http.Request) (*http.Response, error) {
			return cut(encode(r.URL.Path, "identities", metav1.ListMeta{ResourceVersion: "9999"}, s.present()))
		}},
		{"an object that is cut", "object", func(s *versioned, r *http.Request) (*http.Response, error) {
			return cut(encode(r.URL.Path, "object", metav1.ListMeta{}, s.present()))
		}},
		{"identities in another form", "identities",
			func(*versioned, *http.Request) (*http.Response, error) {
				return answer(http.StatusOK, `{"kind":"PartialObjectMetadataList"}`), nil
			}},
		{"identities that the API server does not make", "identities",
			func(*versioned, *http.Request) (*http.Response, error) {
				return answer(http.StatusNotAcceptable, "{}"), nil
			}},
		{"a version that is no number", "identities", func(s *versioned, r *http.Request) (*http.Response, error) {
			return encode(r.URL.Path, "identities", metav1.ListMeta{ResourceVersion: "x9"}, s.present())
		}},
		{"a version before the last one", "identities", func(s *versioned, r *http.Request) (*http.Response, error) {
			return encode(r.URL.Path, "identities", metav1.ListMeta{ResourceVersion: "7"}, s.present())
		}},
		{"an object that is not there", "object",
			func(*versioned, *http.Request) (*http.Response, error) { return wrong("NodeList"), nil }},
		{"an object of a lagging API server", "object", func(_ *versioned, r *http.Request) (*http.Response, error) {
			name := strings.TrimPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name=")
			return encode(r.URL.Path, "object", metav1.ListMeta{},
				[]metav1.ObjectMeta{{Name: name, ResourceVersion: "7", Labels: map[string]string{"content": "old"}}})
		}},
		{"a selector that the API server ignores", "object", func(s *versioned, r *http.Request) (*http.Response, error) {
			return encode(r.URL.Path, "object", metav1.ListMeta{}, s.present())
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := newVersioned(200, "")
			list := kinds(warm(t, server, enough, time.Now))["nodes"].list
			objectsOf(t, list)
			server.set("", "object-7", "second")
			server.forms()
			server.spoil = func(form string, request *http.Request) (*http.Response, error) {
				if form == test.form {
					return test.answer(server, request)
				}
				return nil, nil
			}
			got := objectsOf(t, list)
			if !maps.Equal(got, server.at(server.version)) {
				t.Errorf("object-7 is %s of %d", got["/object-7"], len(got))
			}
			if forms := server.forms(); !strings.Contains(forms, test.form) || !strings.Contains(forms, "list") {
				t.Errorf("the requests are %s", forms)
			}
			server.spoil = nil
			objectsOf(t, list)
			if forms := server.forms(); forms != "identities" {
				t.Errorf("the next requests are %s", forms)
			}
		})
	}
}

func TestWhatIsListedInFull(t *testing.T) {
	clock := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name   string
		count  int
		limit  int
		change func(*versioned)
		after  time.Duration
		want   string
	}{
		{name: "nothing changed", count: 200, limit: enough, want: "identities"},
		{name: "one object changed", count: 200, limit: enough, want: "identities object",
			change: func(s *versioned) { s.set("", "object-7", "second") }},
		{name: "one object is new", count: 200, limit: enough, want: "identities object",
			change: func(s *versioned) { s.set("", "object-x", "first") }},
		{name: "objects have gone", count: 200, limit: enough, want: "identities",
			change: func(s *versioned) { s.remove(199); s.remove(0); s.remove(50) }},
		{name: "everything has gone", count: 200, limit: enough, want: "identities",
			change: func(s *versioned) {
				for len(s.objects) > 0 {
					s.remove(0)
				}
			}},
		{name: "a small collection", count: 99, limit: enough, want: "list"},
		{name: "much changed", count: 200, limit: enough, want: "identities list",
			change: func(s *versioned) {
				for i := range 200 {
					s.set("", fmt.Sprintf("object-%d", i), "second")
				}
			}},
		{name: "after a while", count: 200, limit: enough, after: 59 * time.Minute, want: "identities"},
		{name: "after an hour", count: 200, limit: enough, after: time.Hour, want: "list"},
		{name: "without memory", count: 200, limit: 1000, want: "list"},
		{name: "grown beyond the memory", count: 200, limit: 3_500_000, want: "identities list object",
			change: func(s *versioned) { s.set("", "object-7", strings.Repeat("x", 500_000)) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			server, now := newVersioned(test.count, ""), clock
			list := kinds(warm(t, server, test.limit, func() time.Time { return now }))["nodes"].list
			check := func() {
				t.Helper()
				if got := objectsOf(t, list); !maps.Equal(got, server.at(server.version)) {
					t.Fatalf("%d objects, not those of version %d", len(got), server.version)
				}
			}
			check()
			if forms := server.forms(); forms != "list" {
				t.Fatalf("the first requests are %s", forms)
			}
			if test.change != nil {
				test.change(server)
			}
			now = now.Add(test.after)
			check()
			if test.name == "grown beyond the memory" {
				check() // the object is read, and not kept
			}
			if forms := server.forms(); forms != test.want {
				t.Errorf("the requests are %s, want %s", forms, test.want)
			}
		})
	}
}

// TestTheKindsShareTheMemory: the kinds that are listed last find no room.
func TestTheKindsShareTheMemory(t *testing.T) {
	server := newVersioned(200, "")
	client := warm(t, server, 3_000_000, time.Now)
	for range 2 {
		for _, name := range []string{"pods", "nodeclaims", "nodes"} {
			server.forms()
			objectsOf(t, kinds(client)[name].list)
		}
	}
	if forms := server.forms(); forms != "list" {
		t.Errorf("the nodes' requests are %s", forms)
	}
	objectsOf(t, kinds(client)["pods"].list)
	if forms := server.forms(); forms != "identities" {
		t.Errorf("the pods' requests are %s", forms)
	}
}

// TestCallersMayChangeTheirList: what a caller does to its slice and its objects' own fields is not
// in the next list.
func TestCallersMayChangeTheirList(t *testing.T) {
	server := newVersioned(200, "")
	client := warm(t, server, enough, time.Now)
	for range 3 {
		nodes, err := client.Nodes(t.Context())
		if err != nil || len(nodes) != 200 {
			t.Fatalf("%d nodes, %v", len(nodes), err)
		}
		for i := range nodes {
			if nodes[i].Labels["content"] != "first" || nodes[i].Spec.Unschedulable {
				t.Fatalf("node %d is %+v", i, nodes[i])
			}
			nodes[i].Spec.Unschedulable, nodes[i].Labels = true, map[string]string{"content": "changed"}
		}
		_ = slices.DeleteFunc(nodes, func(node corev1.Node) bool { return node.Name != "object-9" })
	}
}

// TestInvocationsBesideEachOther: lists at the same time each return one version that is no older
// than their beginning.
func TestInvocationsBesideEachOther(t *testing.T) {
	server := newVersioned(200, "a", "b")
	random := rand.New(rand.NewPCG(1, 2))
	server.meanwhile = func() { randomStep(random, server, []string{"a", "b"}) }
	list := kinds(warm(t, server, enough, time.Now))["pods"].list
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 30 {
				begin := server.now()
				got, err := list(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				is := false
				for version := begin; version <= server.now() && !is; version++ {
					is = maps.Equal(got, server.at(version))
				}
				if !is {
					t.Errorf("%d objects are those of no version from %d to %d", len(got), begin, server.now())
				}
			}
		})
	}
	group.Wait()
}

// TestAListThatFailsIsAnError: without an answer the cache does not help.
func TestAListThatFailsIsAnError(t *testing.T) {
	server := newVersioned(200, "")
	client := warm(t, server, enough, time.Now)
	list := kinds(client)["nodes"].list
	objectsOf(t, list)
	server.spoil = func(string, *http.Request) (*http.Response, error) { return answer(http.StatusForbidden, "{}"), nil }
	if found, err := list(t.Context()); err == nil {
		t.Errorf("%d nodes without an answer", len(found))
	}
	server.spoil = nil
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if found, err := list(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%d nodes, %v after the end of the invocation", len(found), err)
	}
	if got := objectsOf(t, list); !maps.Equal(got, server.at(server.version)) {
		t.Errorf("%d nodes afterwards", len(got))
	}
}

// TestTheCacheKeepsItsLimit: the most objects that a cache keeps take about its limit.
func TestTheCacheKeepsItsLimit(t *testing.T) {
	const limit = 8 << 20
	for _, name := range []string{"pods", "nodes", "nodeclaims"} {
		t.Run(name, func(t *testing.T) {
			for count := 700; ; count += count / 4 {
				server := newVersioned(0)
				server.full = true
				for i := range count {
					server.objects = append(server.objects, metav1.ObjectMeta{
						Name: fmt.Sprintf("object-%05d", i), ResourceVersion: "7", Labels: typicalLabels(i),
					})
				}
				server.history[server.version] = server.objects
				list := kinds(warm(t, server, limit, time.Now))[name].list
				objectsOf(t, kinds(clientOf(t, server))[name].list) // whatever lasts is made
				before := heap()
				objectsOf(t, list)
				taken := heap() - before
				server.forms()
				objectsOf(t, list)
				if server.forms() != "identities" {
					if count == 700 {
						t.Errorf("%d objects are not kept", count)
					}
					return
				}
				t.Logf("%d objects take %d KB", count, taken>>10)
				if taken > limit*3/2 {
					t.Errorf("%d objects take %d KB of %d KB", count, taken>>10, limit>>10)
				}
			}
		})
	}
}

// heap is the memory in use.
func heap() int {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

// typicalLabels are as many labels as nodes have.
func typicalLabels(n int) map[string]string {
	labels := map[string]string{}
	for i := range 30 {
		labels[fmt.Sprintf("karpenter.k8s.aws/instance-label-%d", i)] = fmt.Sprintf("value-%d", n%50)
	}
	return labels
}
