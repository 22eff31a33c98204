package provision

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/whittle-dev/whittle/shared/api"
)

// buffer creates a CapacityBuffer of that number of pods of a PodTemplate.
func (e *environment) buffer(name, template string, replicas int64) {
	e.t.Helper()
	client, err := dynamic.NewForConfig(unlimited())
	e.try(err)
	buffers := client.Resource(schema.GroupVersionResource{
		Group: api.AutoscalingGroup, Version: api.CapacityBufferVersion, Resource: api.CapacityBufferResource,
	}).Namespace("default")
	_, err = buffers.Create(e.t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": api.CapacityBufferAPIVersion, "kind": api.CapacityBufferKind,
		"metadata": map[string]any{"name": name},
		"spec":     map[string]any{"podTemplateRef": map[string]any{"name": template}, "replicas": replicas},
	}}, metav1.CreateOptions{})
	e.try(err)
	e.t.Cleanup(func() { _ = buffers.Delete(context.Background(), name, metav1.DeleteOptions{}) })
}

// template creates a PodTemplate whose pods request that many cores.
func (e *environment) template(name, cpu string, change ...func(*corev1.PodSpec)) {
	e.t.Helper()
	made := &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Name: name}}
	made.Template.Spec.Containers = []corev1.Container{{
		Name: "main", Image: "image", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)},
		},
	}}
	for _, f := range change {
		f(&made.Template.Spec)
	}
	_, err := e.core.CoreV1().PodTemplates("default").Create(e.t.Context(), made, metav1.CreateOptions{})
	e.try(err)
	e.t.Cleanup(func() {
		_ = e.core.CoreV1().PodTemplates("default").Delete(context.Background(), name, metav1.DeleteOptions{})
	})
}

// buffered is a tick in a new container with the setting capacityBuffers.
func (e *environment) buffered(handlers ...*Handler) *Handler {
	e.t.Helper()
	e.untilCached()
	h := e.handler(alive())
	if len(handlers) > 0 {
		h = handlers[0]
	}
	h.settings.CapacityBuffers = true
	if _, err := h.handle(e.t.Context(), tick("1")); err != nil {
		e.t.Fatal(err)
	}
	return h
}

// says returns the condition of the buffer.
func (e *environment) says(name, kind string) metav1.Condition {
	e.t.Helper()
	buffers, err := e.client.Consistent().CapacityBuffers(e.t.Context())
	e.try(err)
	for i := range buffers {
		if found := api.GetCondition(buffers[i].Status.Conditions, kind); buffers[i].Name == name && found != nil {
			return *found
		}
	}
	e.t.Fatalf("the buffer %s has no condition %s", name, kind)
	return metav1.Condition{}
}

// TestABufferGetsItsNodes has no pod that waits. The second look finds room on the nodes in flight,
// and launches nothing more.
func TestABufferGetsItsNodes(t *testing.T) {
	e := newEnvironment(t)
	e.template("web", "3")
	e.buffer("spare", "web", 2)
	e.pass()
	if len(e.instances()) > 0 {
		t.Fatal("nodes are launched although the setting is off")
	}
	e.buffered()
	launched := len(e.instances())
	if launched == 0 || e.says("spare", "ReadyForProvisioning").Status != metav1.ConditionTrue ||
		e.says("spare", "Provisioning").Reason != "RequiresNewCapacity" {
		t.Fatalf("%d instances, and the buffer says %+v", launched, e.says("spare", "Provisioning"))
	}
	h := e.buffered()
	if got := e.says("spare", "Provisioning"); got.Reason != "FitsExistingCapacity" || len(e.instances()) != launched {
		t.Errorf("%d instances, then %d, and the buffer says %+v", launched, len(e.instances()), got)
	}
	if told := h.headroom.Load(); told == nil || told.Pods != 2 || told.Placed != 2 || told.PricePerHour <= 0 {
		t.Errorf("the headroom is %+v", told)
	}
	e.template("second", "1")
	e.buffer("later", "second", 1)
	e.until("the buffer in the watch cache", func() bool {
		buffers, err := e.client.CapacityBuffers(t.Context())
		return err == nil && len(buffers) == 2
	})
	e.buffered(h)
	e.says("later", "ReadyForProvisioning")
}

// TestABrokenBufferStopsNothing has a buffer without its PodTemplate beside one with it, and beside
// a pod.
func TestABrokenBufferStopsNothing(t *testing.T) {
	e := newEnvironment(t)
	e.template("web", "3")
	e.buffer("broken", "nothing", 2)
	e.buffer("spare", "web", 1)
	e.pod("alone", "3", selecting(corev1.LabelTopologyZone, "us-east-1c"))
	e.buffered()
	if got := e.says("broken", "ReadyForProvisioning"); got.Reason != "PodTemplateNotFound" ||
		!strings.Contains(got.Message, `spec.podTemplateRef: the PodTemplate "nothing" does not exist`) {
		t.Errorf("the broken buffer says %+v", got)
	}
	if len(e.standing()) != 2 || len(e.events("alone", "Nominated")) != 1 {
		t.Errorf("%d claims, want one for the pod and one for the other buffer", len(e.standing()))
	}
}

// TestPodsDoNotWaitForBuffers lets the API server refuse to list buffers.
func TestPodsDoNotWaitForBuffers(t *testing.T) {
	e := newEnvironment(t)
	e.pod("alone", "3", nil)
	h := e.handler(alive())
	h.settings.CapacityBuffers = true
	h.connection = fixed{e.connectThrough(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if request.URL.Path == api.CapacityBuffersPath {
				return nil, errors.New("no way to the buffers")
			}
			return next.RoundTrip(request)
		})
	})}
	if _, err := h.handle(t.Context(), tick("1")); err == nil {
		t.Error("the tick is not tried again")
	}
	if len(e.standing()) != 1 {
		t.Errorf("%d claims, want the pod's", len(e.standing()))
	}
}

// TestAnIdleBufferCostsOneList holds that a warm container plans for buffers every 30 seconds only.
func TestAnIdleBufferCostsOneList(t *testing.T) {
	e := newEnvironment(t)
	e.template("web", "1")
	e.buffer("spare", "web", 1)
	h := e.buffered()
	e.buffered(h) // the second look sees the node in flight
	due := func() bool {
		t.Helper()
		due, err := h.buffersDue(t.Context(), e.client)
		e.try(err)
		return due
	}
	if due() {
		t.Error("a plan is due at once")
	}
	h.now = func() time.Time { return time.Now().Add(refillEvery) }
	if !due() {
		t.Error("no plan is due after a while")
	}
}
