package functiontest

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// Paths of collections.
const (
	NodesPath  = "/api/v1/nodes"
	PodsPath   = "/api/v1/namespaces/default/pods"
	EventsPath = "/api/v1/namespaces/default/events"
)

// The functions of this file ignore the end of the test's context, because tests delete objects in
// their cleanup.

// Create creates the object in the collection at the path, and returns it as stored.
func Create[T any](t *testing.T, c *Cluster, path string, object *T) *T {
	t.Helper()
	stored := new(T)
	if err := c.send(context.WithoutCancel(t.Context()), http.MethodPost, path, object, stored); err != nil {
		t.Fatal(err)
	}
	return stored
}

// Get reads the object at the path. It returns nil when there is none.
func Get[T any](t *testing.T, c *Cluster, path string) *T {
	t.Helper()
	stored := new(T)
	err := c.send(context.WithoutCancel(t.Context()), http.MethodGet, path, nil, stored)
	if isNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

// Patch merges the patch into the object at the path.
func (c *Cluster) Patch(t *testing.T, path string, patch any) {
	t.Helper()
	if err := c.send(context.WithoutCancel(t.Context()), http.MethodPatch, path, patch, nil); err != nil {
		t.Fatal(err)
	}
}

// Delete deletes the object. It succeeds for an object that has gone.
func (c *Cluster) Delete(t *testing.T, path string) {
	t.Helper()
	c.delete(t, path, nil)
}

func (c *Cluster) delete(t *testing.T, path string, options any) {
	t.Helper()
	err := c.send(context.WithoutCancel(t.Context()), http.MethodDelete, path, options, nil)
	if err != nil && !isNotFound(err) {
		t.Fatal(err)
	}
}

// remove ends the object at the end of a test, whatever holds it. Later tests move their clocks by
// hours, and objects that others left would become due in them.
func (c *Cluster) remove(t *testing.T, path string) {
	t.Helper()
	c.delete(t, path, atOnce())
	patch := map[string]any{"metadata": map[string]any{"finalizers": []string{}}}
	err := c.send(context.WithoutCancel(t.Context()), http.MethodPatch, path, patch, nil)
	if err != nil && !isNotFound(err) {
		t.Fatal(err)
	}
}

// atOnce are the options of a deletion that leaves a pod no time.
func atOnce() map[string]any {
	return map[string]any{"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
}

func isNotFound(err error) bool {
	var answer *statusError
	return errors.As(err, &answer) && answer.code == http.StatusNotFound
}

// EndPods acts as the kubelet of the node: it removes the pods that are terminating.
func (c *Cluster) EndPods(t *testing.T, node string) {
	t.Helper()
	for _, pod := range Get[corev1.PodList](t, c, PodsPath+"?fieldSelector=spec.nodeName="+node).Items {
		if pod.DeletionTimestamp != nil {
			c.delete(t, PodsPath+"/"+pod.Name, atOnce())
		}
	}
}

// Evict evicts the pod, and reports whether its disruption budget allowed it.
func (c *Cluster) Evict(t *testing.T, pod *corev1.Pod) bool {
	t.Helper()
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace}}
	err := c.send(context.WithoutCancel(t.Context()), http.MethodPost, PodsPath+"/"+pod.Name+"/eviction", eviction, nil)
	var answer *statusError
	if errors.As(err, &answer) && (answer.code == http.StatusTooManyRequests || answer.code == http.StatusNotFound) {
		return answer.code == http.StatusNotFound
	}
	if err != nil {
		t.Fatal(err)
	}
	return true
}

// Reasons lists the reasons of the events about an object.
func (c *Cluster) Reasons(t *testing.T, name string) map[string]bool {
	t.Helper()
	reasons := map[string]bool{}
	for _, event := range Get[corev1.EventList](t, c, EventsPath+"?fieldSelector=involvedObject.name="+name).Items {
		reasons[event.Reason] = true
	}
	return reasons
}

// Claim creates a NodeClaim of the pool "default" that has been launched as the instance. An empty
// id leaves it unlaunched.
func (c *Cluster) Claim(t *testing.T, name, instanceID string, change ...func(*api.NodeClaim)) *api.NodeClaim {
	t.Helper()
	claim := &api.NodeClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: api.APIVersion, Kind: api.NodeClaimKind},
		ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{api.TerminationFinalizer}, Labels: map[string]string{
			api.NodePoolLabelKey: "default", corev1.LabelInstanceTypeStable: "m5.large",
			corev1.LabelTopologyZone: "us-east-1a", api.CapacityTypeLabelKey: api.CapacityTypeSpot,
		}},
	}
	claim.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{
		{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"amd64"}},
	}
	claim.Spec.NodeClassRef = &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: "default"}
	for _, f := range change {
		f(claim)
	}
	stored := Create(t, c, api.NodeClaimsPath, claim)
	t.Cleanup(func() { c.remove(t, api.NodeClaimsPath+"/"+name) })
	if instanceID == "" {
		return stored
	}
	c.Patch(t, api.NodeClaimsPath+"/"+name+"/status", map[string]any{"status": map[string]any{
		"providerID": api.ProviderID("us-east-1a", instanceID),
		"conditions": []metav1.Condition{{
			Type: api.ConditionTypeLaunched, Status: metav1.ConditionTrue, Reason: "Launched",
			LastTransitionTime: stored.CreationTimestamp,
		}},
	}})
	return Get[api.NodeClaim](t, c, api.NodeClaimsPath+"/"+name)
}

// Node creates the node of a machine that joins: ready, and with the taint that kubelets register
// with.
func (c *Cluster) Node(t *testing.T, name, instanceID string) *corev1.Node {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	node.Spec.ProviderID = api.ProviderID("us-east-1a", instanceID)
	node.Spec.Taints = []corev1.Taint{api.UnregisteredNoExecuteTaint()}
	Create(t, c, NodesPath, node)
	t.Cleanup(func() { c.remove(t, NodesPath+"/"+name) })
	c.Patch(t, NodesPath+"/"+name+"/status", map[string]any{"status": map[string]any{
		"capacity":    map[string]string{"cpu": "2", "memory": "8Gi", "pods": "29"},
		"allocatable": map[string]string{"cpu": "1900m", "memory": "7Gi", "pods": "29"},
		"conditions": []map[string]any{{
			"type": "Ready", "status": "True", "reason": "KubeletReady",
			"lastHeartbeatTime": metav1.Now(), "lastTransitionTime": metav1.Now(),
		}},
	}})
	return Get[corev1.Node](t, c, NodesPath+"/"+name)
}

// Settle returns when Kubernetes' own controllers have finished with a new node. After that the
// node does not change between a function's read and its write.
func (c *Cluster) Settle(t *testing.T, name string) {
	t.Helper()
	const unchanged = 3 // reads in a row
	version, same := "", 0
	for deadline := time.Now().Add(waitLimit); same < unchanged; time.Sleep(50 * time.Millisecond) {
		node := Get[corev1.Node](t, c, NodesPath+"/"+name)
		// The second read is from the watch cache, which answers lists.
		cached := Get[corev1.Node](t, c, NodesPath+"/"+name+"?resourceVersion=0")
		notReady := slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
			return taint.Key == corev1.TaintNodeNotReady
		})
		if notReady || node.ResourceVersion != version || cached == nil || cached.ResourceVersion != version {
			version, same = node.ResourceVersion, 0
		} else {
			same++
		}
		if time.Now().After(deadline) {
			t.Fatalf("node %q keeps changing", name)
		}
	}
}

// CatchUp returns when the watch cache, which answers the lists of functions, has every node, pod,
// NodeClaim and NodePool as it is stored.
func (c *Cluster) CatchUp(t *testing.T) {
	t.Helper()
	for _, path := range []string{NodesPath, "/api/v1/pods", api.NodeClaimsPath, api.NodePoolsPath} {
		stored := func() map[string]string { return versions(Get[metav1.PartialObjectMetadataList](t, c, path)) }
		cached := func() map[string]string {
			return versions(Get[metav1.PartialObjectMetadataList](t, c, path+"?resourceVersion=0"))
		}
		for deadline := time.Now().Add(waitLimit); !maps.Equal(stored(), cached()); {
			if time.Now().After(deadline) {
				t.Fatalf("the watch cache of %s stays behind", path)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// versions are the resourceVersions by UID.
func versions(list *metav1.PartialObjectMetadataList) map[string]string {
	of := make(map[string]string, len(list.Items))
	for _, object := range list.Items {
		of[string(object.UID)] = object.ResourceVersion
	}
	return of
}

// Pod creates a pod that runs on the node and is ready.
func (c *Cluster) Pod(t *testing.T, name, node string, change ...func(*corev1.Pod)) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
	pod.Spec.NodeName = node
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "image"}}
	for _, f := range change {
		f(pod)
	}
	stored := Create(t, c, PodsPath, pod)
	t.Cleanup(func() { c.remove(t, PodsPath+"/"+name) })
	c.Patch(t, PodsPath+"/"+name+"/status", map[string]any{"status": map[string]any{
		"phase": "Running", "startTime": metav1.Now(),
		"conditions": []map[string]any{{"type": "Ready", "status": "True"}},
	}})
	return stored
}
