package simulate

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/provisioningrequest"
	"github.com/whittle-dev/whittle/shared/scheduling"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/apiserver"
)

// requestName begins the names of ProvisioningRequests, and of their PodTemplates and pods.
const requestName = "training"

// askForRooms lets some seeds have a few ProvisioningRequests, one after another. Each asks for
// pods in two zones, so that no single fleet can serve it.
func (r *Run) askForRooms() {
	e := r.engine
	if !e.Chance(0.3, "requests") {
		return
	}
	for n := range e.Number(1, 3, "requests", "count") {
		name := fmt.Sprintf("%s-%d", requestName, n)
		e.In(e.Between(0, 10*time.Minute, name, "begins"), func() { r.ask(name) })
	}
}

// ask creates a request, which a person may take back again.
func (r *Run) ask(name string) {
	e := r.engine
	cpu := int64(e.Number(1, 6, name, "cpu")) * 500
	var sets []any
	for _, zone := range []string{"a", "b"} {
		template := &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Name: name + zone, Namespace: metav1.NamespaceDefault}}
		template.Template.Spec = corev1.PodSpec{
			NodeSelector: map[string]string{corev1.LabelTopologyZone: region + zone},
			Containers:   []corev1.Container{{Name: "main", Resources: size(cpu, 0)}},
		}
		if _, err := r.store.Create(apiserver.PodTemplates, template); err != nil {
			r.violate("a pod template cannot be made: %v", err)
			return
		}
		sets = append(sets, map[string]any{"podTemplateRef": map[string]any{"name": name + zone},
			"count": e.Number(1, 4, name, zone, "count")})
	}
	r.trace("%s asks for %v", name, sets)
	_, err := r.store.Create(apiserver.Requests, map[string]any{
		"metadata": map[string]any{"name": name, "namespace": metav1.NamespaceDefault},
		"spec":     map[string]any{"provisioningClassName": api.AtomicScaleUpClass, "podSets": sets},
	})
	if err != nil {
		r.violate("a request cannot be made: %v", err)
		return
	}
	if e.Chance(0.25, name, "is taken back") {
		e.In(e.Between(5*time.Second, 5*time.Minute, name, "is taken back"), func() {
			if object := r.store.Get(apiserver.Requests, metav1.NamespaceDefault, name); object != nil {
				r.trace("%s is taken back", name)
				r.store.Delete(object, nil)
			}
		})
	}
}

// startJobs makes the pods of requests that have their room, as Kueue lets jobs do. It checks that
// no request fails after that.
func (r *Run) startJobs() {
	for _, request := range apiserver.List[api.ProvisioningRequest](r.store, apiserver.Requests) {
		conditions := request.Status.Conditions
		if !api.ConditionTrue(conditions, api.ConditionProvisioned) {
			continue
		}
		if api.ConditionTrue(conditions, api.ConditionFailed) {
			r.breaks("room-stays", "the request %s is provisioned, and has failed", request.Name)
			return
		}
		if r.started[request.Name] {
			continue
		}
		r.started[request.Name] = true
		r.trace("%s has its room", request.Name)
		if r.engine.Chance(0.2, request.Name, "never starts") {
			continue
		}
		for _, set := range request.Spec.PodSets {
			r.startSet(request, set)
		}
	}
}

// startSet makes the pods of a set, which end after a while.
func (r *Run) startSet(request *api.ProvisioningRequest, set api.RequestedPodSet) {
	object := r.store.Get(apiserver.PodTemplates, request.Namespace, set.PodTemplateRef.Name)
	template, _ := object.Typed.(*corev1.PodTemplate)
	for n := range int(set.Count) {
		name := fmt.Sprintf("%s-%d", template.Name, n)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: request.Namespace, Labels: map[string]string{"app": request.Name},
			Annotations: map[string]string{api.ConsumeRequestAnnotationKey: request.Name},
		}, Spec: *template.Template.Spec.DeepCopy()}
		grace := int64(1)
		pod.Spec.TerminationGracePeriodSeconds, pod.Spec.SchedulerName = &grace, corev1.DefaultSchedulerName
		pod.Status.Phase = corev1.PodPending
		if _, err := r.store.Create(apiserver.Pods, pod); err != nil {
			r.violate("a pod of a job cannot be made: %v", err)
			return
		}
		r.engine.In(r.engine.Between(2*time.Minute, 8*time.Minute, name, "works"), func() {
			if object := r.store.Get(apiserver.Pods, request.Namespace, name); object != nil {
				r.evictions[string(object.Meta.GetUID())] = "its work is done"
				r.store.Delete(object, nil)
			}
		})
	}
}

// unsettledRequests lists the requests that still wait, and the nodes that were launched for
// requests and have nothing to do.
func (r *Run) unsettledRequests() []string {
	var problems []string
	booked := len(apiserver.List[api.CapacityBuffer](r.store, apiserver.CapacityBuffers)) > 0
	for _, request := range apiserver.List[api.ProvisioningRequest](r.store, apiserver.Requests) {
		switch provisioningrequest.StageOf(request) {
		case provisioningrequest.Waits:
			problems = append(problems, fmt.Sprintf("request %s still waits: %+v", request.Name, request.Status.Conditions))
		case provisioningrequest.Booked:
			booked = true
		}
	}
	busy := map[string]bool{}
	for _, pod := range apiserver.List[corev1.Pod](r.store, apiserver.Pods) {
		if !isDaemon(pod) {
			busy[pod.Spec.NodeName] = true
		}
	}
	for _, claim := range apiserver.List[api.NodeClaim](r.store, apiserver.NodeClaims) {
		only := strings.HasPrefix(claim.Annotations[api.NominatedPodsAnnotationKey], scheduling.VirtualUIDPrefix+"request-")
		if only && !booked && !busy[claim.Status.NodeName] && claim.DeletionTimestamp == nil &&
			time.Since(claim.CreationTimestamp.Time) > patience+10*time.Minute {
			problems = append(problems, fmt.Sprintf("nodeclaim %s was launched for a request, and its node is idle", claim.Name))
		}
	}
	return problems
}
