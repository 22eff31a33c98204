package cluster_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
)

// TestAWarmListOfARealAPIServer: the API server knows the requests of a cache, for built-in and for
// custom kinds, and gives the same objects as in a full list. Provision's rights are enough.
func TestAWarmListOfARealAPIServer(t *testing.T) {
	config, forms := controlPlane.RESTConfig(), &requestForms{}
	config.Impersonate = rest.ImpersonationConfig{UserName: "test", Groups: []string{"whittle:provision"}}
	config.WrapTransport = forms.wrap
	plain, err := cluster.NewForConfig(cluster.Endpoint{Name: "prod"}, config)
	if err != nil {
		t.Fatal(err)
	}
	cached := plain.WithCache(cluster.NewCache(enough, time.Now))
	nodes := schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	claims := schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"}
	t.Run("pods", func(t *testing.T) {
		compareWithAPIServer(t, podResource, cached.Pods, plain.Pods, func(name string) any {
			return &corev1.Pod{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
				ObjectMeta: largeMeta("default", name),
				Spec:       corev1.PodSpec{NodeName: "none", Containers: []corev1.Container{{Name: "main", Image: "image"}}},
			}
		})
	})
	t.Run("nodes", func(t *testing.T) {
		compareWithAPIServer(t, nodes, cached.Nodes, plain.Nodes, func(name string) any {
			return &corev1.Node{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: largeMeta("", name),
			}
		})
	})
	t.Run("nodeclaims", func(t *testing.T) {
		compareWithAPIServer(t, claims, cached.NodeClaims, plain.NodeClaims, func(name string) any {
			claim := &api.NodeClaim{ObjectMeta: largeMeta("", name)}
			claim.APIVersion, claim.Kind = "karpenter.sh/v1", "NodeClaim"
			claim.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{}
			claim.Spec.NodeClassRef = &api.NodeClassReference{
				Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: "default",
			}
			return claim
		})
	})
	for _, form := range []string{"identities", "object"} {
		if forms.failed > 0 || forms.count[form] < 20 {
			t.Errorf("%d requests failed, of %v", forms.failed, forms.count)
		}
	}
}

// requestForms counts the requests of a cache.
type requestForms struct {
	next   http.RoundTripper
	mutex  sync.Mutex
	count  map[string]int
	failed int
}

func (r *requestForms) wrap(next http.RoundTripper) http.RoundTripper {
	r.next, r.count = next, map[string]int{}
	return r
}

func (r *requestForms) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.next.RoundTrip(request)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.count[formOf(request)]++
	if err != nil || response.StatusCode != http.StatusOK {
		r.failed++
	}
	return response, err
}

// largeMeta makes an object large enough that a list costs more than some requests.
func largeMeta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{"size": size}}
}

// compareWithAPIServer changes objects at random, and compares a list with a cache and one without.
func compareWithAPIServer[T any](
	t *testing.T, kind schema.GroupVersionResource, cached, plain func(context.Context) ([]T, error),
	object func(name string) any,
) {
	t.Helper()
	objects, err := dynamic.NewForConfig(controlPlane.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	namespace := ""
	if kind == podResource {
		namespace = "default"
	}
	store := objects.Resource(kind).Namespace(namespace)
	var names []string
	add := func() {
		names = append(names, fmt.Sprintf("warm-%d", len(names)))
		create(t, kind, object(names[len(names)-1]))
	}
	for range 110 {
		add()
	}
	now := int64(0)
	remove := func(name string) {
		err := store.Delete(context.Background(), name, metav1.DeleteOptions{GracePeriodSeconds: &now})
		if ignoreNotFound(err) != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() {
		for _, name := range names {
			remove(name)
		}
	})
	random := rand.New(rand.NewPCG(1, 1))
	for step := range 20 {
		for range random.IntN(4) {
			switch name := names[random.IntN(len(names))]; random.IntN(3) {
			case 0:
				add()
			case 1:
				remove(name)
			default:
				patch := fmt.Sprintf(`{"metadata":{"labels":{"step":"%d"}}}`, step)
				_, _ = store.Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			}
		}
		same(t, cached, plain)
	}
}

// same compares the lists. Controllers may change objects between two lists, but not always.
func same[T any](t *testing.T, cached, plain func(context.Context) ([]T, error)) {
	t.Helper()
	for range 20 {
		got, err := cached(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want, err := plain(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if equality.Semantic.DeepEqual(got, want) {
			return
		}
	}
	t.Fatal("the lists differ")
}
