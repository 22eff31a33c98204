package disrupt

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/shared/api"
)

const (
	templatesPath = "/api/v1/namespaces/default/podtemplates"
	buffersPath   = "/apis/" + api.CapacityBufferAPIVersion + "/namespaces/default/capacitybuffers"
)

// buffer creates a CapacityBuffer for that many pods of 500m, with the rights that the setting
// gives the function.
func buffer(t *testing.T, replicas int32) {
	t.Helper()
	const bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
	functiontest.Create(t, server, bindings, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "disrupt-capacity-buffers"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "whittle:capacity-buffers"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "whittle:disrupt"}},
	})
	template := &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Name: "spare"}}
	template.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "image",
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")},
		}}}
	functiontest.Create(t, server, templatesPath, template)
	made := &api.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Name: "spare"}}
	made.TypeMeta = metav1.TypeMeta{APIVersion: api.CapacityBufferAPIVersion, Kind: api.CapacityBufferKind}
	made.Spec.PodTemplateRef, made.Spec.Replicas = &api.PodTemplateRef{Name: "spare"}, &replicas
	functiontest.Create(t, server, buffersPath, made)
	t.Cleanup(func() {
		server.Delete(t, buffersPath+"/spare")
		server.Delete(t, templatesPath+"/spare")
		server.Delete(t, bindings+"/disrupt-capacity-buffers")
	})
}

// withBuffers is a function with the setting capacityBuffers.
func withBuffers(t *testing.T) *harness {
	t.Helper()
	l := newHarness(t, nil)
	client := edge{Client: server.Client(t, nil)}
	l.settings.CapacityBuffers = true
	l.connect = func(context.Context) (kubernetes, error) { return client, nil }
	return l
}

// TestABufferKeepsTheNodesItNeeds has two empty nodes, and a buffer that one of them has room for.
func TestABufferKeepsTheNodesItNeeds(t *testing.T) {
	pool(t, "100%")
	initialized(t, "first", "second")
	buffer(t, 2)
	l := withBuffers(t)
	ending := func() (count int) {
		for range 3 {
			l.mustTick(t)
			l.ahead += time.Minute
		}
		for _, name := range []string{"first", "second"} {
			if isEnding(t, name) {
				count++
			}
		}
		return count
	}
	if got := ending(); got != 1 {
		t.Errorf("%d of two empty nodes end, want the one that the buffer does not need", got)
	}
	server.Delete(t, buffersPath+"/spare")
	if got := ending(); got != 2 {
		t.Errorf("%d of two nodes end without the buffer, want both", got)
	}
}

// booked is a request for one pod whose room is booked, and a function that knows it.
func booked(t *testing.T) (*api.ProvisioningRequest, *harness) {
	t.Helper()
	buffer(t, 0) // for its PodTemplate
	request := &api.ProvisioningRequest{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "training", UID: "u", CreationTimestamp: metav1.Now(),
	}}
	request.Spec.ProvisioningClassName = api.AtomicScaleUpClass
	request.Spec.PodSets = make([]api.RequestedPodSet, 1)
	request.Spec.PodSets[0].PodTemplateRef.Name, request.Spec.PodSets[0].Count = "spare", 1
	request.Status.Conditions = []metav1.Condition{{Type: api.ConditionProvisioned, Status: metav1.ConditionTrue,
		LastTransitionTime: metav1.Now()}}
	l := newHarness(t, nil)
	client := edge{
		Client: server.Client(t, func(next http.RoundTripper) http.RoundTripper { return knows{next, request} })}
	l.settings.ProvisioningRequests = true
	l.connect = func(context.Context) (kubernetes, error) { return client, nil }
	return request, l
}

// TestABookedRequestKeepsItsNode has a request that is provisioned, and then over.
func TestABookedRequestKeepsItsNode(t *testing.T) {
	pool(t, "100%")
	initialized(t, "booked")
	request, l := booked(t)
	ends := func() bool {
		for range 3 {
			l.mustTick(t)
			l.ahead += time.Minute
		}
		return isEnding(t, "booked")
	}
	if ends() {
		t.Error("the node of a booked request ends")
	}
	api.SetCondition(&request.Status.Conditions, metav1.Condition{
		Type: api.ConditionBookingExpired, Status: metav1.ConditionTrue}, time.Now())
	if !ends() {
		t.Error("the node stays when the booking has ended")
	}
}

// TestABookedRequestIsNotMoved has an on-demand node that spot would be cheaper than.
func TestABookedRequestIsNotMoved(t *testing.T) {
	pool(t, "100%")
	settleAtOnce(t)
	offers(t)
	w := newWorld(t)
	w.fill("part", 1)
	_, l := booked(t)
	l.staysSettled(t, w)
}

// knows is an API server with one ProvisioningRequest, whose definition this cluster lacks.
type knows struct {
	next    http.RoundTripper
	request *api.ProvisioningRequest
}

func (k knows) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Path != api.ProvisioningRequestsPath {
		return k.next.RoundTrip(request)
	}
	answer := httptest.NewRecorder()
	answer.Header().Set("Content-Type", "application/json")
	err := json.NewEncoder(answer).Encode(api.ProvisioningRequestList{Items: []api.ProvisioningRequest{*k.request}})
	response := answer.Result()
	response.Request = request
	return response, err
}

// TestNodesOfABufferAreConsolidated has three on-demand nodes for a buffer that one cheaper node
// has room for. Karpenter leaves nodes alone that have no pod.
func TestNodesOfABufferAreConsolidated(t *testing.T) {
	pool(t, "100%")
	settleAtOnce(t)
	offers(t)
	w := newWorld(t)
	w.fill("part", 3)
	buffer(t, 3)
	l := withBuffers(t)
	w.await("one spot node is left", func() bool {
		l.mustTick(t)
		l.ahead += 20 * time.Second
		w.step()
		claims := w.claims()
		return len(claims) == 1 && spotNodes(claims) == 1
	})
	l.staysSettled(t, w)
}
