package cluster_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
)

// quotaRequests counts the lists of CapacityQuotas.
type quotaRequests struct {
	next  http.RoundTripper
	count int
}

func (q *quotaRequests) RoundTrip(request *http.Request) (*http.Response, error) {
	if strings.HasPrefix(request.URL.Path, api.CapacityQuotasPath) {
		q.count++
	}
	return q.next.RoundTrip(request)
}

// defineQuotas creates a definition of the kind with any fields, and removes it after the test.
func defineQuotas(t *testing.T, store dynamic.Interface) {
	t.Helper()
	definitions := store.Resource(schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	})
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{
			"name": "capacityquotas.autoscaling.x-k8s.io",
			// The group is one of the community's, which the API server lets only reviewed
			// definitions have.
			"annotations": map[string]any{"api-approved.kubernetes.io": "unapproved, a test"},
		},
		"spec": map[string]any{
			"group": "autoscaling.x-k8s.io", "scope": "Cluster",
			"names": map[string]any{"kind": "CapacityQuota", "plural": "capacityquotas", "singular": "capacityquota"},
			"versions": []any{map[string]any{
				"name": "v1beta1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "x-kubernetes-preserve-unknown-fields": true,
				}},
			}},
		},
	}}
	if _, err := definitions.Create(t.Context(), definition, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := definitions.Delete(context.Background(), definition.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

func TestQuotasAreReadOnceTheyAreDefined(t *testing.T) {
	now := time.Date(2026, 11, 29, 8, 0, 0, 0, time.UTC)
	counted := &quotaRequests{}
	config := controlPlane.RESTConfig()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { counted.next = next; return counted })
	plain, err := cluster.NewForConfig(cluster.Endpoint{Name: "prod", URL: controlPlane.Endpoint}, config)
	if err != nil {
		t.Fatal(err)
	}
	reader := plain.WithCache(cluster.NewCache(1<<20, func() time.Time { return now }))
	for range 3 {
		quotas, err := reader.CapacityQuotas(t.Context())
		if err != nil || len(quotas) > 0 {
			t.Fatalf("without a definition there are %v, %v", quotas, err)
		}
	}
	if counted.count != 1 {
		t.Errorf("%d requests ask for a kind that the cluster lacks, want 1", counted.count)
	}

	store, err := dynamic.NewForConfig(controlPlane.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	defineQuotas(t, store)
	resource := schema.GroupVersionResource{Group: "autoscaling.x-k8s.io", Version: "v1beta1", Resource: "capacityquotas"}
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true,
		func(ctx context.Context) (bool, error) {
			_, err := store.Resource(resource).List(ctx, metav1.ListOptions{})
			return !apierrors.IsNotFound(err), nil
		})
	if err != nil {
		t.Fatal(err)
	}
	head := `{"apiVersion":"autoscaling.x-k8s.io/v1beta1","kind":"CapacityQuota","metadata":{"name":"`
	createAll(t, resource,
		head+`zone"},"spec":{"selector":{"matchLabels":{"topology.kubernetes.io/zone":"us-east-1a"}},
			"limits":{"resources":{"cpu":64,"memory":"256Gi","nodes":"10"}}}}`,
		head+`odd"},"spec":{"limits":{"resources":{"cpu":"1e1.5","nodes":"3"}}}}`)

	now = now.Add(5 * time.Minute)
	quotas, err := reader.CapacityQuotas(t.Context())
	if err != nil || len(quotas) != 2 {
		t.Fatalf("with a definition there are %v, %v", quotas, err)
	}
	odd, zone := &quotas[0], &quotas[1]
	if amounts := zone.Spec.Limits.Resources; amounts.Cpu().Value() != 64 || amounts.Memory().String() != "256Gi" ||
		zone.Spec.Selector.MatchLabels["topology.kubernetes.io/zone"] != "us-east-1a" {
		t.Errorf("the quota is read as %+v", zone.Spec)
	}
	if _, unread := odd.Unreadable["spec.limits.resources.cpu"]; !unread || len(odd.Spec.Limits.Resources) != 1 {
		t.Errorf("of the odd quota there is %v, unreadable %v", odd.Spec.Limits.Resources, odd.Unreadable)
	}

	restricted, err := controlPlane.ClientOf("whittle:interrupt")
	if err != nil {
		t.Fatal(err)
	}
	if quotas, err := restricted.CapacityQuotas(t.Context()); err != nil || len(quotas) > 0 {
		t.Errorf("without the right there are %v, %v", quotas, err)
	}
}
