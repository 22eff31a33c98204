package provision

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

// requestKind defines the kind ProvisioningRequest with the fields that Whittle reads. It stands
// for Cluster Autoscaler's definition.
func (e *environment) requestKind() dynamic.ResourceInterface {
	e.t.Helper()
	definition := map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "provisioningrequests.autoscaling.x-k8s.io"},
		"spec": map[string]any{
			"group": api.AutoscalingGroup, "scope": "Namespaced",
			"names": map[string]any{
				"kind": api.ProvisioningRequestKind, "listKind": "ProvisioningRequestList", "plural": api.ProvisioningRequestResource,
				"singular": "provisioningrequest",
			},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "x-kubernetes-preserve-unknown-fields": true,
				}},
			}},
		},
	}
	e.try(e.client.Apply(e.t.Context(), &unstructured.Unstructured{Object: definition}))
	client, err := dynamic.NewForConfig(unlimited())
	e.try(err)
	return client.Resource(schema.GroupVersionResource{
		Group: api.AutoscalingGroup, Version: "v1", Resource: api.ProvisioningRequestResource,
	}).Namespace("default")
}

// request creates a ProvisioningRequest of the class, for a pod of each template.
func (e *environment) request(name, class string, templates ...string) {
	e.t.Helper()
	requests := e.requestKind()
	var sets []any
	for _, template := range templates {
		sets = append(sets, map[string]any{"podTemplateRef": map[string]any{"name": template}, "count": int64(1)})
	}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": api.ProvisioningRequestAPIVersion, "kind": api.ProvisioningRequestKind,
		"metadata": map[string]any{"name": name},
		"spec":     map[string]any{"provisioningClassName": class, "podSets": sets},
	}}
	e.until("the kind ProvisioningRequest", func() bool {
		_, err := requests.Create(e.t.Context(), object, metav1.CreateOptions{})
		return err == nil
	})
	e.t.Cleanup(func() { _ = requests.Delete(context.Background(), name, metav1.DeleteOptions{}) })
	e.until("the request in the watch cache", func() bool {
		found, err := e.client.ProvisioningRequests(e.t.Context())
		return err == nil && len(found) > 0
	})
}

// asked is a tick in a new container with the setting provisioningRequests, some time ahead.
func (e *environment) asked(ahead time.Duration) {
	e.t.Helper()
	e.untilCached()
	h := e.handler(alive())
	h.settings.ProvisioningRequests = true
	h.now = func() time.Time { return time.Now().Add(ahead) }
	at := h.now().Format(time.RFC3339Nano)
	body := fmt.Sprintf(`{"cluster":%q,"at":%q,"reason":"tick","hop":0}`, clusterName, at)
	message := events.SQSMessage{MessageId: "1", Body: body}
	if _, err := h.handle(e.t.Context(), events.SQSEvent{Records: []events.SQSMessage{message}}); err != nil {
		e.t.Fatal(err)
	}
}

// told returns the condition of the request, which is empty where there is none.
func (e *environment) told(name, kind string) metav1.Condition {
	e.t.Helper()
	requests, err := e.client.Consistent().ProvisioningRequests(e.t.Context())
	e.try(err)
	for i := range requests {
		if found := api.GetCondition(requests[i].Status.Conditions, kind); requests[i].Name == name && found != nil {
			return *found
		}
	}
	return metav1.Condition{}
}

// initialize joins a node for each instance, as a kubelet and lifecycle do.
func (e *environment) initialize() {
	e.t.Helper()
	for _, claim := range e.standing() {
		name := "node-" + claim.Name
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: claim.Labels}}
		node.Labels[corev1.LabelHostname], node.Labels[api.NodeInitializedLabelKey] = name, "true"
		node.Labels[api.NodeRegisteredLabelKey] = "true"
		node.Spec.ProviderID = claim.Status.ProviderID
		_, err := e.core.CoreV1().Nodes().Create(e.t.Context(), node, metav1.CreateOptions{})
		e.try(err)
		status, err := json.Marshal(map[string]any{"status": map[string]any{
			"capacity": claim.Status.Capacity, "allocatable": claim.Status.Allocatable,
			"conditions": []map[string]any{{"type": "Ready", "status": "True"}},
		}})
		e.try(err)
		_, err = e.core.CoreV1().Nodes().Patch(
			e.t.Context(), name, types.MergePatchType, status, metav1.PatchOptions{}, "status")
		e.try(err)
		e.t.Cleanup(func() { _ = e.core.CoreV1().Nodes().Delete(context.Background(), name, metav1.DeleteOptions{}) })
		conditions := claim.Status.Conditions
		for _, kind := range []string{api.ConditionTypeRegistered, api.ConditionTypeInitialized} {
			api.SetCondition(&conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue}, time.Now())
		}
		_, err = e.client.PatchNodeClaimStatus(e.t.Context(), claim.Name, map[string]any{
			"status": map[string]any{"conditions": conditions, "nodeName": name},
		})
		e.try(err)
	}
	e.until("the nodes without taints in the watch cache", func() bool {
		nodes, err := e.client.Nodes(e.t.Context())
		if err != nil || len(nodes) < len(e.standing()) {
			return false
		}
		for i := range nodes {
			if len(nodes[i].Spec.Taints) > 0 {
				e.untaint(nodes[i].Name)
				return false
			}
		}
		return true
	})
}

func (e *environment) untaint(name string) {
	e.t.Helper()
	node, err := e.core.CoreV1().Nodes().Get(e.t.Context(), name, metav1.GetOptions{})
	e.try(err)
	node.Spec.Taints = nil
	_, _ = e.core.CoreV1().Nodes().Update(e.t.Context(), node, metav1.UpdateOptions{}) // the next look tries again
}

// TestARequestIsProvisionedWhenItsNodesAreInitialized goes from the launch to the end of the
// booking.
func TestARequestIsProvisionedWhenItsNodesAreInitialized(t *testing.T) {
	e := newEnvironment(t)
	e.template("leader", "3")
	e.template("worker", "3")
	e.request("training", api.AtomicScaleUpClass, "leader", "worker")
	e.asked(0)
	launched := len(e.instances())
	if got := e.told("training", "Provisioned"); launched == 0 || got.Status != metav1.ConditionFalse ||
		!strings.Contains(got.Message, "launched") || e.told("training", "Accepted").Status != metav1.ConditionTrue {
		t.Fatalf("%d instances, and the request says %+v", launched, got)
	}
	e.asked(0)
	if got := e.told("training", "Provisioned"); got.Status != metav1.ConditionFalse ||
		!strings.Contains(got.Message, "2 of 2 pods are not initialized yet") || len(e.instances()) != launched {
		t.Fatalf("%d instances, and the request says %+v", len(e.instances()), got)
	}
	e.initialize()
	e.asked(0)
	if got := e.told("training", "Provisioned"); got.Status != metav1.ConditionTrue || got.Reason != "CapacityIsProvisioned" {
		t.Fatalf("the request says %+v", got)
	}
	// One of its pods comes, and another one that no node has room for: none is launched for it.
	e.comes("leader", "training")
	e.pod("far", "3", func(pod *corev1.Pod) {
		pod.Annotations = map[string]string{api.ConsumeRequestAnnotationKey: "training"}
		pod.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "us-east-1f"}
	})
	e.asked(time.Minute)
	if len(e.instances()) != launched || e.told("training", "BookingExpired").Status != "" ||
		len(e.events("far", "FailedScheduling")) > 0 {
		t.Errorf("%d instances, want %d; the booking is %+v; %v", len(e.instances()), launched,
			e.told("training", "BookingExpired"), e.events("far", "FailedScheduling"))
	}
	e.asked(11 * time.Minute)
	if got := e.told("training", "BookingExpired"); got.Reason != "CapacityReservationTimeExpired" ||
		e.told("training", "Failed").Status != "" {
		t.Errorf("the booking is %+v, failed %+v", got, e.told("training", "Failed"))
	}
}

// comes creates a pod for which the request has room, and waits until kube-scheduler has bound it.
func (e *environment) comes(name, request string) {
	e.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Annotations: map[string]string{api.ConsumeRequestAnnotationKey: request},
	}}
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "image"}}
	_, err := e.core.CoreV1().Pods("default").Create(e.t.Context(), pod, metav1.CreateOptions{})
	e.try(err)
	e.until("the pod "+name+" to have a node", func() bool {
		bound, err := e.client.Pods(e.t.Context())
		return err == nil && slices.ContainsFunc(bound, func(p corev1.Pod) bool { return p.Name == name && p.Spec.NodeName != "" })
	})
}

// TestABookingEndsWhenItsPodsHaveCome has a request for one pod.
func TestABookingEndsWhenItsPodsHaveCome(t *testing.T) {
	e := newEnvironment(t)
	e.template("leader", "3")
	e.request("training", api.AtomicScaleUpClass, "leader")
	e.asked(0)
	e.initialize()
	e.asked(0)
	e.comes("leader", "training")
	e.asked(time.Minute)
	if got := e.told("training", "BookingExpired"); got.Reason != "CapacityBookingConsumed" {
		t.Errorf("the booking is %+v", got)
	}
}

// TestNoNodeIsLaunchedForAPartOfARequest lets EC2 lack the zone of one of two pods. The request
// fails in the end, and nothing was ever launched.
func TestNoNodeIsLaunchedForAPartOfARequest(t *testing.T) {
	e := newEnvironment(t)
	e.template("leader", "3", func(spec *corev1.PodSpec) {
		spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "us-east-1a"}
	})
	e.template("worker", "3", func(spec *corev1.PodSpec) {
		spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "us-east-1b"}
	})
	e.ec2.Starve(ec2.Starvation{Zone: "us-east-1b"})
	e.request("training", api.AtomicScaleUpClass, "leader", "worker")
	e.asked(0)
	e.untilCached()
	if standing := e.standing(); len(standing) > 0 {
		t.Errorf("%d claims stand for a part of the request", len(standing))
	}
	e.asked(0)
	if got := e.told("training", "Provisioned"); got.Status != metav1.ConditionFalse || got.Reason != "CapacityIsNotFound" ||
		!strings.Contains(got.Message, "2 pods have no room together") {
		t.Errorf("the request says %+v", got)
	}
	e.asked(11 * time.Minute)
	if got := e.told("training", "Failed"); got.Status != metav1.ConditionTrue || got.Reason != "CapacityIsNotFound" {
		t.Errorf("after 11 minutes it says %+v", got)
	}
}

// killed has a request for pods in two zones, and a function that dies between the two fleets.
func (e *environment) killed() {
	e.t.Helper()
	for name, zone := range map[string]string{"leader": "us-east-1a", "worker": "us-east-1b"} {
		e.template(name, "3", func(spec *corev1.PodSpec) {
			spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: zone}
		})
	}
	e.request("training", api.AtomicScaleUpClass, "leader", "worker")
	allowed := atomic.Int32{}
	allowed.Store(1) // CreateFleets are sent side by side
	h := e.tapped(&wiretap{cutAfter: 1, limit: func() bool { return allowed.Add(-1) >= 0 }})
	h.settings.ProvisioningRequests = true
	if _, err := h.handle(e.t.Context(), tick("1")); err == nil {
		e.t.Fatal("the function was not cut off")
	}
	if len(e.instances()) != 1 {
		e.t.Fatalf("%d instances, want that of one of two fleets", len(e.instances()))
	}
}

// TestARequestIsCompletedAfterAPassThatDied launches what is missing, and nothing twice.
func TestARequestIsCompletedAfterAPassThatDied(t *testing.T) {
	e := newEnvironment(t)
	e.killed()
	for range 3 {
		e.asked(2 * time.Minute)
	}
	e.nodes(2)
	if got := e.told("training", "Provisioned"); !strings.Contains(got.Message, "2 of 2 pods are not initialized yet") {
		t.Errorf("the request says %+v", got)
	}
}

// TestARequestIsReturnedAfterAPassThatDied lets EC2 lack both zones once one of them has its node.
func TestARequestIsReturnedAfterAPassThatDied(t *testing.T) {
	e := newEnvironment(t)
	e.killed()
	e.ec2.Starve(ec2.Starvation{Zone: "*"})
	for range 3 {
		e.asked(2 * time.Minute)
	}
	e.untilCached()
	if standing := e.standing(); len(standing) > 0 {
		t.Errorf("%d claims stand for a part of the request", len(standing))
	}
}

// TestARequestForACheckLaunchesNothing asks for room that no node has, and then for none that is
// missing.
func TestARequestForACheckLaunchesNothing(t *testing.T) {
	e := newEnvironment(t)
	e.template("leader", "3", func(spec *corev1.PodSpec) {
		spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}} // one on a node
	})
	e.request("check", api.CheckCapacityClass, "leader")
	e.request("lost", api.AtomicScaleUpClass, "nothing")
	e.request("others", "queued-provisioning.gke.io", "leader")
	e.asked(0)
	if got := e.told("check", "Provisioned"); len(e.claims()) > 0 || got.Reason != "CapacityIsNotFound" {
		t.Errorf("%d claims, and the request says %+v", len(e.claims()), got)
	}
	if got := e.told("lost", "Failed"); got.Status != "" {
		t.Errorf("a request whose PodTemplate may come says %+v", got)
	}
	e.asked(time.Minute)
	if got := e.told("lost", "Failed"); got.Reason != "FailedToCreatePods" ||
		!strings.Contains(got.Message, `spec.podSets[0].podTemplateRef: the PodTemplate "nothing" does not exist`) {
		t.Errorf("a request without its PodTemplate says %+v", got)
	}
	if got := e.told("others", "Accepted"); got.Status != "" {
		t.Errorf("a request of another class says %+v", got)
	}
	e.request("room", api.AtomicScaleUpClass, "leader")
	e.asked(0)
	e.initialize()
	e.asked(0)
	if e.told("room", "Provisioned").Status != metav1.ConditionTrue ||
		e.told("check", "Provisioned").Status != metav1.ConditionFalse {
		t.Errorf("the node is for one of them: %+v, %+v", e.told("room", "Provisioned"), e.told("check", "Provisioned"))
	}
	launched := len(e.claims())
	e.try(e.requestKind().Delete(t.Context(), "room", metav1.DeleteOptions{}))
	e.until("the request to be gone from the watch cache", func() bool {
		found, err := e.client.ProvisioningRequests(t.Context())
		return err == nil && len(found) == 3
	})
	e.asked(0)
	if got := e.told("check", "Provisioned"); got.Reason != "CapacityIsFound" || len(e.claims()) != launched {
		t.Errorf("%d claims, then %d, and the request says %+v", launched, len(e.claims()), got)
	}
}
