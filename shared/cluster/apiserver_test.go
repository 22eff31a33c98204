package cluster_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/cluster/clustertest"
)

// controlPlane is shared by the package's tests. TestMain sets it before they run.
var controlPlane *clustertest.ControlPlane

func TestMain(m *testing.M) {
	os.Exit(clustertest.Run(m, func(started *clustertest.ControlPlane) error {
		controlPlane = started
		return started.Install(context.Background())
	}))
}

func client(t *testing.T) *cluster.Client {
	t.Helper()
	client, err := controlPlane.Client()
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// create creates an object as kubectl does.
func create(t *testing.T, resource schema.GroupVersionResource, object any) *unstructured.Unstructured {
	t.Helper()
	created, err := write(t, resource, object, "")
	if err != nil {
		t.Fatal(err)
	}
	return created
}

// write creates an object, or updates a subresource of an existing one.
func write(t *testing.T, resource schema.GroupVersionResource, object any,
	subresource string) (*unstructured.Unstructured, error) {
	t.Helper()
	objects, err := dynamic.NewForConfig(controlPlane.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	made := &unstructured.Unstructured{Object: content}
	namespaced := objects.Resource(resource).Namespace(made.GetNamespace())
	if subresource != "" {
		return namespaced.UpdateStatus(t.Context(), made, metav1.UpdateOptions{})
	}
	return namespaced.Create(t.Context(), made, metav1.CreateOptions{})
}

var podResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// pod creates a pod on a node, or a pending one if the node is empty. It returns the stored pod
// once the watch cache has it.
func pod(t *testing.T, name, node string) *corev1.Pod {
	t.Helper()
	create(t, podResource, &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "image"}}},
	})
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		pods, err := client(t).Pods(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return pod.Namespace == "default" && pod.Name == name }) {
			return read(t, name)
		}
	}
	t.Fatalf("pod %s did not come to the watch cache", name)
	return nil
}

// read reads the pod, without the watch cache. It returns nil if there is none.
func read(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	objects, err := dynamic.NewForConfig(controlPlane.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	stored, err := objects.Resource(podResource).Namespace("default").Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var pod corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, &pod); err != nil {
		t.Fatal(err)
	}
	return &pod
}

// recorded is a connection that remembers the content types of the answers.
type recorded struct {
	next  http.RoundTripper
	mutex sync.Mutex
	calls []string
}

func (r *recorded) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.next.RoundTrip(request)
	if err == nil {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		r.calls = append(r.calls, fmt.Sprintf("%s?%s %s %s", request.URL.Path, request.URL.Query().Get("resourceVersion"),
			response.Header.Get("Content-Type"), request.UserAgent()))
	}
	return response, err
}

func TestListsTravelAsProtobuf(t *testing.T) {
	config := controlPlane.RESTConfig()
	seen := &recorded{}
	config.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
		seen.next = next
		return seen
	}
	client, err := cluster.NewForConfig(cluster.Endpoint{Name: "prod"}, config)
	if err != nil {
		t.Fatal(err)
	}
	pod(t, "listed", "listed-node")
	t.Cleanup(func() { remove(t, "listed") })
	version, err := client.PodsVersion(t.Context())
	if err != nil || version == "" {
		t.Fatalf("the pods' version is %q, %v", version, err)
	}
	for _, list := range []struct {
		path, version, form string
		count               func() (int, error)
	}{
		{"/api/v1/pods", "", "application/vnd.kubernetes.protobuf", counted(t, client.Pods)},
		{"/api/v1/pods", "0", "application/vnd.kubernetes.protobuf", counted(t, client.UnboundPods)},
		{"/api/v1/nodes", "", "application/vnd.kubernetes.protobuf", counted(t, client.Nodes)},
		{"/apis/apps/v1/daemonsets", "0", "application/vnd.kubernetes.protobuf", counted(t, client.DaemonSets)},
		{"/api/v1/limitranges", "0", "application/vnd.kubernetes.protobuf", counted(t, client.LimitRanges)},
		{"/apis/policy/v1/poddisruptionbudgets", "0", "application/vnd.kubernetes.protobuf",
			counted(t, client.PodDisruptionBudgets)},
		{"/apis/storage.k8s.io/v1/volumeattachments", "0", "application/vnd.kubernetes.protobuf",
			counted(t, client.VolumeAttachments)},
		{"/api/v1/namespaces", "0", "application/vnd.kubernetes.protobuf", counted(t, client.Namespaces)},
		{"/api/v1/persistentvolumeclaims", "", "application/vnd.kubernetes.protobuf",
			counted(t, client.PersistentVolumeClaims)},
		{"/api/v1/persistentvolumes", "", "application/vnd.kubernetes.protobuf", counted(t, client.PersistentVolumes)},
		{"/apis/storage.k8s.io/v1/storageclasses", "0", "application/vnd.kubernetes.protobuf",
			counted(t, client.StorageClasses)},
		{"/apis/storage.k8s.io/v1/csinodes", "", "application/vnd.kubernetes.protobuf", counted(t, client.CSINodes)},
		{"/apis/karpenter.sh/v1alpha1/nodeoverlays", "0", "application/json", counted(t, client.NodeOverlays)},
		{"/apis/karpenter.sh/v1/nodepools", "0", "application/json", counted(t, client.NodePools)},
		{"/apis/karpenter.sh/v1/nodeclaims", "0", "application/json", counted(t, client.CachedNodeClaims)},
		{"/apis/karpenter.sh/v1/nodeclaims", "", "application/json", counted(t, client.NodeClaims)},
		{"/apis/karpenter.sh/v1/nodeclaims", "0", "application/vnd.kubernetes.protobuf", func() (int, error) {
			has, err := client.HasNodeClaims(t.Context())
			if claims, _ := client.CachedNodeClaims(t.Context()); has != (len(claims) > 0) {
				t.Errorf("there are %d nodeclaims, and HasNodeClaims is %t", len(claims), has)
			}
			_, _ = client.HasNodeClaims(t.Context()) // the last call is looked at
			return 0, err
		}},
		{"/apis/karpenter.k8s.aws/v1/ec2nodeclasses", "0", "application/json", counted(t, client.NodeClasses)},
		{"/api/v1/pods", "", "application/vnd.kubernetes.protobuf", func() (int, error) {
			pods, err := client.PodsOnNode(t.Context(), "listed-node", "")
			if len(pods) != 1 || pods[0].Name != "listed" {
				t.Errorf("on the node are %d pods", len(pods))
			}
			return len(pods), err
		}},
		{"/api/v1/namespaces/default/pods", "0", "application/vnd.kubernetes.protobuf", func() (int, error) {
			pods, err := client.PodsSelected(t.Context(), "default", "app in (listed),!missing")
			if len(pods) != 1 || pods[0].Name != "listed" {
				t.Errorf("%d pods are selected", len(pods))
			}
			return len(pods), err
		}},
		{"/api/v1/pods", version, "application/vnd.kubernetes.protobuf", func() (int, error) {
			pods, err := client.PodsOnNode(t.Context(), "listed-node", version)
			if len(pods) != 1 || pods[0].Name != "listed" {
				t.Errorf("on the node are %d pods since version %s", len(pods), version)
			}
			return len(pods), err
		}},
	} {
		if _, err := list.count(); err != nil {
			t.Errorf("%s: %v", list.path, err)
			continue
		}
		want := fmt.Sprintf("%s?%s %s whittle", list.path, list.version, list.form)
		if got := seen.calls[len(seen.calls)-1]; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func counted[T any](t *testing.T, list func(context.Context) ([]T, error)) func() (int, error) {
	return func() (int, error) {
		items, err := list(t.Context())
		return len(items), err
	}
}

func TestUnboundPodsAreThoseThatWait(t *testing.T) {
	pod(t, "waits", "")
	pod(t, "runs", "some-node")
	t.Cleanup(func() { remove(t, "waits"); remove(t, "runs") })
	pods, err := client(t).UnboundPods(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	if !slices.Contains(names, "waits") || slices.Contains(names, "runs") {
		t.Errorf("unbound are %q", names)
	}
}

func TestClusterDNSIsTheServicesAddress(t *testing.T) {
	address, err := client(t).ClusterDNS(t.Context())
	if err != nil || address != "10.100.0.10" {
		t.Errorf("%q, %v", address, err)
	}
}

func TestErrorsSayWhatWasDoneAndWhy(t *testing.T) {
	_, err := client(t).PatchNodeClaim(t.Context(), "nobody", map[string]any{"metadata": map[string]any{}})
	if !cluster.IsGone(err) || !strings.Contains(err.Error(), `/nodeclaims/nobody`) ||
		!strings.Contains(err.Error(), "not found") {
		t.Errorf("error is %v", err)
	}
	claim := &api.NodeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "karpenter.sh/v1", Kind: "NodeClaim"},
		ObjectMeta: metav1.ObjectMeta{Name: "invalid"},
		Spec:       api.NodeClaimSpec{Requirements: []api.NodeSelectorRequirementWithMinValues{}},
	}
	if _, err := client(t).CreateNodeClaim(t.Context(), claim); !apierrors.IsInvalid(err) ||
		!strings.Contains(err.Error(), "nodeClassRef") {
		t.Errorf("error is %v, want the server's, which names the field", err)
	}
	nobody, err := controlPlane.ClientOf("whittle:ticker")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nobody.Pods(t.Context()); !apierrors.IsForbidden(err) ||
		!strings.Contains(err.Error(), "listing /api/v1/pods") {
		t.Errorf("error is %v, want that listing pods is forbidden", err)
	}
}

func TestDeleteNodeClaimSparesAnotherOfTheSameName(t *testing.T) {
	claim := &api.NodeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "karpenter.sh/v1", Kind: "NodeClaim"},
		ObjectMeta: metav1.ObjectMeta{Name: "again"},
		Spec: api.NodeClaimSpec{
			Requirements: []api.NodeSelectorRequirementWithMinValues{},
			NodeClassRef: &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: "default"},
		},
	}
	stored, err := client(t).CreateNodeClaim(t.Context(), claim)
	if err != nil {
		t.Fatal(err)
	}
	if err := client(t).DeleteNodeClaim(t.Context(), "again", "another-uid"); err != nil {
		t.Errorf("deleting with another UID: %v", err)
	}
	claims, err := client(t).NodeClaims(t.Context())
	if err != nil || len(claims) != 1 || claims[0].DeletionTimestamp != nil {
		t.Errorf("the claim of another UID was deleted: %v, %v", claims, err)
	}
	for range 2 { // the second deletion finds nothing, and succeeds
		if err := client(t).DeleteNodeClaim(t.Context(), "again", stored.UID); err != nil {
			t.Error(err)
		}
	}
	if claims, err := client(t).NodeClaims(t.Context()); err != nil || len(claims) != 0 {
		t.Errorf("%d claims are left, %v", len(claims), err)
	}
}

func remove(t *testing.T, name string) {
	t.Helper()
	none := int64(0)
	// The test's own context has ended when its cleanup runs.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	doomed := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	if err := client(t).DeletePod(ctx, doomed, &none); err != nil {
		t.Error(err)
	}
}
