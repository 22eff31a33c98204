package cluster_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/whittle-dev/whittle/shared/api"
)

// createAll creates objects that the definitions allow, and removes them after the test.
func createAll(t *testing.T, resource schema.GroupVersionResource, objects ...string) {
	t.Helper()
	store, err := dynamic.NewForConfig(controlPlane.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range objects {
		made := &unstructured.Unstructured{}
		if err := json.Unmarshal([]byte(text), &made.Object); err != nil {
			t.Fatal(err)
		}
		create(t, resource, made)
		t.Cleanup(func() {
			in := store.Resource(resource).Namespace(made.GetNamespace())
			if err := in.Delete(context.Background(), made.GetName(), metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
}

func pool(name, more string) string {
	return `{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"` + name + `","annotations":{"a":"b"}},
		"spec":{"weight":7,"template":{"metadata":{"labels":{"team":"x"}},"spec":{"requirements":[],
		"nodeClassRef":{"group":"karpenter.k8s.aws","kind":"EC2NodeClass","name":"default"}` + more + `}`
}

// TestOneObjectDoesNotHideTheOthers lists objects with values that the definitions allow, and that
// Go cannot express.
func TestOneObjectDoesNotHideTheOthers(t *testing.T) {
	createAll(t, schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodepools"},
		pool("fine", "}}}"),
		pool("limits", `}},"limits":{"cpu":"1e1.5","memory":"4Gi"}}`),
		pool("period", `,"terminationGracePeriod":"8760000h","startupTaints":[{"key":"k","effect":"NoSchedule"}]}}}`))
	pools, err := client(t).NodePools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	unreadable := map[string][]string{}
	for i := range pools {
		p := &pools[i]
		unreadable[p.Name] = slices.Sorted(maps.Keys(p.Unreadable))
		if *p.Spec.Weight != 7 || p.Spec.Template.Labels["team"] != "x" || p.Annotations["a"] != "b" ||
			p.Spec.Template.Spec.NodeClassRef.Name != "default" {
			t.Errorf("of nodepool %s other fields are lost: %+v", p.Name, p)
		}
		valid := p.Validate()
		if (p.Name == "fine") != (valid == nil) {
			t.Errorf("nodepool %s: %v", p.Name, valid)
		}
		for _, path := range unreadable[p.Name] {
			if !strings.Contains(valid.Error(), path) {
				t.Errorf("%v does not name %s", valid, path)
			}
		}
	}
	wanted := map[string][]string{
		"fine": nil, "limits": {"spec.limits.cpu"}, "period": {"spec.template.spec.terminationGracePeriod"},
	}
	if !maps.EqualFunc(unreadable, wanted, slices.Equal) {
		t.Errorf("unreadable are %v, want %v", unreadable, wanted)
	}
	for i := range pools {
		limits := corev1.ResourceList(pools[i].Spec.Limits)
		if pools[i].Name == "limits" && (len(limits) != 1 || limits.Memory().String() != "4Gi") {
			t.Errorf("the limits are %v", limits)
		}
		if pools[i].Name == "period" && len(pools[i].Spec.Template.Spec.StartupTaints) != 1 {
			t.Error("the startup taint is lost")
		}
	}
}

func TestOneBufferDoesNotHideTheOthers(t *testing.T) {
	buffer := func(name, more string) string {
		return `{"apiVersion":"autoscaling.x-k8s.io/v1beta1","kind":"CapacityBuffer","metadata":{"name":"` + name +
			`","namespace":"default"},"spec":{"podTemplateRef":{"name":"p"}` + more + `}}`
	}
	kind := schema.GroupVersionResource{Group: "autoscaling.x-k8s.io", Version: "v1beta1", Resource: "capacitybuffers"}
	createAll(t, kind, buffer("fine", `,"replicas":2`), buffer("odd", `,"limits":{"cpu":"1e1.5"}`))
	buffers, err := client(t).CapacityBuffers(t.Context())
	if err != nil || len(buffers) != 2 {
		t.Fatalf("%d buffers, %v", len(buffers), err)
	}
	for i := range buffers {
		if _, odd := buffers[i].Unreadable["spec.limits.cpu"]; odd != (buffers[i].Name == "odd") {
			t.Errorf("of buffer %s unreadable are %v", buffers[i].Name, buffers[i].Unreadable)
		}
	}
}

// TestAnOddClaimKeepsItsInstance lists and patches a claim with a field that cannot be read. A
// claim that seems absent would have its instance ended.
func TestAnOddClaimKeepsItsInstance(t *testing.T) {
	createAll(t, schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"},
		`{"apiVersion":"karpenter.sh/v1","kind":"NodeClaim","metadata":{"name":"odd"},"spec":{"requirements":[],
		"terminationGracePeriod":"8760000h","expireAfter":"720h",
		"nodeClassRef":{"group":"karpenter.k8s.aws","kind":"EC2NodeClass","name":"default"}}}`)
	stored, err := client(t).PatchNodeClaimStatus(t.Context(), "odd", map[string]any{
		"status": map[string]any{"providerID": "aws:///us-east-1a/i-1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	claims, err := client(t).NodeClaims(t.Context())
	if err != nil || len(claims) != 1 {
		t.Fatalf("%d claims, %v", len(claims), err)
	}
	for _, claim := range []*api.NodeClaim{stored, &claims[0]} {
		expires := claim.Spec.ExpireAfter.Duration
		if claim.Status.ProviderID != "aws:///us-east-1a/i-1" || claim.Spec.TerminationGracePeriod != nil ||
			expires == nil || *expires != 720*time.Hour {
			t.Errorf("the claim is %+v", claim)
		}
	}
}
