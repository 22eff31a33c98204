package provisioningrequest_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/provisioningrequest"
	"github.com/whittle-dev/whittle/shared/quota"
	"github.com/whittle-dev/whittle/shared/scheduling"
	"github.com/whittle-dev/whittle/shared/virtual"
)

var began = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// asked is a request for two pods of one template and one of another.
func asked(class string) *api.ProvisioningRequest {
	r := &api.ProvisioningRequest{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ml", Name: "training", UID: "1234-5678", CreationTimestamp: metav1.NewTime(began),
	}}
	r.Spec.ProvisioningClassName = class
	r.Spec.PodSets = make([]api.RequestedPodSet, 2)
	r.Spec.PodSets[0].PodTemplateRef.Name, r.Spec.PodSets[0].Count = "worker", 2
	r.Spec.PodSets[1].PodTemplateRef.Name, r.Spec.PodSets[1].Count = "leader", 1
	return r
}

func templates() map[string]*corev1.PodTemplateSpec {
	template := func(cpu string) *corev1.PodTemplateSpec {
		return &corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"job": "training"}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)},
			}}}},
		}
	}
	return map[string]*corev1.PodTemplateSpec{"worker": template("4"), "leader": template("1")}
}

// fits is a plan that nominates the first pods of a request, and says why of the others.
func fits(r *provisioningrequest.Request, count int) virtual.Outcome {
	made := &plan.Plan{}
	for i := range r.Pods {
		ref := plan.RefOf(&r.Pods[i])
		if i < count {
			made.Nominations = append(made.Nominations, plan.Nomination{Pod: ref, NodeName: "node"})
		} else {
			made.Unplaced = append(made.Unplaced, plan.Unplaced{Pod: ref, Reasons: []plan.Reason{{Message: "EC2 is short"}}})
		}
	}
	return virtual.Take(made)
}

func always(plan.Nomination) bool { return true }

func never(plan.Nomination) bool { return false }

// TestTheLifeOfARequest goes through the stages.
func TestTheLifeOfARequest(t *testing.T) {
	object := asked(api.AtomicScaleUpClass)
	step := func(after time.Duration, count int, initialized func(plan.Nomination) bool, pods ...corev1.Pod) {
		t.Helper()
		r := provisioningrequest.Resolve(object, templates(), pods, nil)
		object.Status.Conditions, _ = r.Conditions(fits(&r, count), initialized, began.Add(after))
	}
	says := func(kind string, status metav1.ConditionStatus, reason, message string) {
		t.Helper()
		got := api.GetCondition(object.Status.Conditions, kind)
		if got == nil || got.Status != status || got.Reason != reason || !strings.Contains(got.Message, message) {
			t.Errorf("%s is %+v, want %s, %s, %q", kind, got, status, reason, message)
		}
	}
	step(0, 2, always)
	says("Accepted", metav1.ConditionTrue, "Accepted", "3 pods")
	says("Provisioned", metav1.ConditionFalse, "CapacityIsNotFound", "3 pods have no room together: EC2 is short")
	step(time.Minute, 3, never)
	says("Provisioned", metav1.ConditionFalse, "CapacityIsNotFound", "3 of 3 pods are not initialized yet")
	step(2*time.Minute, 3, always)
	says("Provisioned", metav1.ConditionTrue, "CapacityIsProvisioned", "room for 3 pods")
	if got := provisioningrequest.StageOf(object); got != provisioningrequest.Booked {
		t.Fatalf("its stage is %d", got)
	}
	step(11*time.Minute, 0, never) // a node is lost
	if api.GetCondition(object.Status.Conditions, "Failed") != nil {
		t.Error("it fails although it was provisioned")
	}
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ml",
		Annotations: map[string]string{api.OldConsumeRequestAnnotationKey: "training"}}}
	pod.Spec.NodeName = "node"
	step(11*time.Minute, 0, never, pod)
	if api.GetCondition(object.Status.Conditions, "BookingExpired") != nil {
		t.Error("the booking ends although pods are missing")
	}
	step(11*time.Minute+time.Second, 0, never, pod, pod, pod)
	says("BookingExpired", metav1.ConditionTrue, "CapacityBookingConsumed", "")
	if got := provisioningrequest.StageOf(object); got != provisioningrequest.Over {
		t.Errorf("its stage is %d", got)
	}
}

// TestRequestsFail holds the ends without room, and their times.
func TestRequestsFail(t *testing.T) {
	failed := func(object *api.ProvisioningRequest, known map[string]*corev1.PodTemplateSpec, after time.Duration) string {
		r := provisioningrequest.Resolve(object, known, nil, nil)
		object.Status.Conditions, _ = r.Conditions(fits(&r, 0), always, began.Add(after))
		if got := api.GetCondition(object.Status.Conditions, "Failed"); got != nil {
			return got.Reason + " " + got.Message
		}
		return ""
	}
	late, once := asked(api.AtomicScaleUpClass), asked(api.CheckCapacityClass)
	once.Spec.Parameters = map[string]string{"noRetry": "true"}
	if first, last := failed(late, templates(), 0), failed(late, templates(), 10*time.Minute); first != "" ||
		!strings.Contains(last, "CapacityIsNotFound 3 pods have no room together") {
		t.Errorf("it says %q, and after ten minutes %q", first, last)
	}
	if said := failed(once, templates(), 0); !strings.Contains(said, "CapacityIsNotFound") {
		t.Errorf("without a retry it says %q", said)
	}
	lost, large := asked(api.AtomicScaleUpClass), asked(api.AtomicScaleUpClass)
	if first, last := failed(lost, nil, 20*time.Second), failed(lost, nil, time.Minute); first != "" ||
		!strings.Contains(last, `FailedToCreatePods spec.podSets[0].podTemplateRef: the PodTemplate "worker" does not exist`) {
		t.Errorf("without its templates it says %q, and later %q", first, last)
	}
	large.Spec.PodSets[1].Count = 1 << 30
	if said := failed(large, templates(), time.Minute); !strings.Contains(said, "spec.podSets: the request asks for more than") {
		t.Errorf("with too many pods it says %q", said)
	}
}

// TestBootingNodesAreRoom holds that a request does not fail while the nodes of all of its pods boot,
// and that it fails once such a node is lost.
func TestBootingNodesAreRoom(t *testing.T) {
	once := asked(api.CheckCapacityClass)
	once.Spec.Parameters = map[string]string{api.NoRetryParameter: "true"}
	for name, object := range map[string]*api.ProvisioningRequest{
		"scale-up": asked(api.AtomicScaleUpClass), "check without a retry": once,
	} {
		step := func(after time.Duration, count int, initialized func(plan.Nomination) bool) {
			r := provisioningrequest.Resolve(object, templates(), nil, nil)
			object.Status.Conditions, _ = r.Conditions(fits(&r, count), initialized, began.Add(after))
		}
		is := func(kind string, want bool) {
			t.Helper()
			if got := api.ConditionTrue(object.Status.Conditions, kind); got != want {
				t.Errorf("%s: %s is %t, want %t: %+v", name, kind, got, want, object.Status.Conditions)
			}
		}
		step(0, 3, never)
		step(14*time.Minute, 3, never)
		is(api.ConditionFailed, false)
		booted := object.DeepCopy()
		step(15*time.Minute, 2, never) // a node never joined, and EC2 has no other
		is(api.ConditionFailed, true)
		object = booted
		step(20*time.Minute, 3, always)
		is(api.ConditionProvisioned, true)
		is(api.ConditionFailed, false)
	}
}

// TestAQuotaFailsARequest asks for three pods under a quota of two. A booked request keeps its pods.
func TestAQuotaFailsARequest(t *testing.T) {
	of := corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"pods": resource.MustParse("2")}}}
	of.Name = "team"
	waiting := asked(api.AtomicScaleUpClass)
	of.Namespace = waiting.Namespace
	r := provisioningrequest.Resolve(waiting, templates(), nil, nil)
	r.Within(quota.New([]corev1.ResourceQuota{of}))
	conditions, _ := r.Conditions(fits(&r, 0), always, began.Add(time.Minute))
	got := api.GetCondition(conditions, "Failed")
	if len(r.Pods) != 0 || got == nil || !strings.Contains(got.Message, `the ResourceQuota "team" has no room for`) {
		t.Errorf("%d pods, and %+v", len(r.Pods), got)
	}
	booked := asked(api.AtomicScaleUpClass)
	booked.Status.Conditions = []metav1.Condition{{Type: "Provisioned", Status: metav1.ConditionTrue}}
	r = provisioningrequest.Resolve(booked, templates(), nil, nil)
	if r.Within(quota.New([]corev1.ResourceQuota{of})); len(r.Pods) != 3 {
		t.Errorf("a booked request has %d pods", len(r.Pods))
	}
}

// TestARequestInOneZone says where its room is, and holds it there.
func TestARequestInOneZone(t *testing.T) {
	object, known := asked(api.AtomicScaleUpClass), templates()
	known["worker"].Annotations = map[string]string{api.KueueRequiredTopologyAnnotationKey: corev1.LabelTopologyZone}
	r := provisioningrequest.Resolve(object, known, nil, nil)
	if got := api.RequiredTopology(r.Pods[0].Annotations); got != corev1.LabelTopologyZone {
		t.Fatalf("its pods ask for one %q", got)
	}
	zone := func(plan.Nomination) map[string]string {
		return map[string]string{corev1.LabelTopologyZone: "us-east-1b"}
	}
	for _, test := range []struct {
		placed int
		want   string
	}{{2, ""}, {3, "us-east-1b"}} {
		outcome := fits(&r, test.placed)
		conditions, _ := r.Conditions(outcome, always, began)
		if got := r.Details(conditions, outcome, zone)[corev1.LabelTopologyZone]; got != test.want {
			t.Errorf("with room for %d pods it names the zone %q, want %q", test.placed, got, test.want)
		}
		object.Status.Conditions = conditions
	}
	object.Status.ProvisioningClassDetails = map[string]string{corev1.LabelTopologyZone: "us-east-1b"}
	r = provisioningrequest.Resolve(object, known, nil, nil)
	if got := r.Pods[0].Spec.NodeSelector[corev1.LabelTopologyZone]; got != "us-east-1b" {
		t.Errorf("the booked room may be in %q", got)
	}
}

func TestThePodsOfARequest(t *testing.T) {
	r := provisioningrequest.Resolve(asked(api.AtomicScaleUpClass), templates(), nil, nil)
	uids := map[string]bool{}
	for i := range r.Pods {
		pod := &r.Pods[i]
		uids[string(pod.UID)] = true
		if !scheduling.IsVirtual(pod) || plan.GangOf(pod) != r.Gang().GangRef || pod.Labels["job"] != "training" ||
			pod.Annotations[api.DoNotDisruptAnnotationKey] != "true" {
			t.Errorf("pod %s has the UID %s and the labels %v", pod.Name, pod.UID, pod.Labels)
		}
	}
	if len(uids) != 3 || r.Gang().MinMember != 3 || !r.Grows() {
		t.Errorf("%d UIDs, gang %+v", len(uids), r.Gang())
	}
	waits := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ml",
		Annotations: map[string]string{api.ConsumeRequestAnnotationKey: "training"}}}
	other := waits
	other.Namespace = "web"
	open := []provisioningrequest.Request{r}
	if !provisioningrequest.Consumed(&waits, open) || provisioningrequest.Consumed(&other, open) ||
		provisioningrequest.Consumed(&waits, nil) {
		t.Error("the room is for other pods than those that name the open request")
	}
}
