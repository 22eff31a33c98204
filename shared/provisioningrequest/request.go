package provisioningrequest

import (
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/quota"
	"github.com/whittle-dev/whittle/shared/scheduling"
	"github.com/whittle-dev/whittle/shared/virtual"
)

const (
	// failsAfter is how long a request may wait for its room. Cluster Autoscaler waits for seven
	// days, and Kueue's quota as long.
	failsAfter = 10 * time.Minute
	// templatesWithin is how long the PodTemplates may take to appear. Kueue once made them after
	// the request.
	templatesWithin = 30 * time.Second
	// bookedFor is how long the room is held for pods that do not come: Cluster Autoscaler's ten
	// minutes.
	bookedFor = 10 * time.Minute
	// mostPods bounds the pods of a request.
	mostPods = 10_000
)

// Stage is how far a request is.
type Stage int

// Stages of a request.
const (
	// Waits is a request that has no room yet.
	Waits Stage = iota
	// Booked is a request whose room is held.
	Booked
	// Over is a request that has failed, or whose booking has ended.
	Over
)

// StageOf is how far the request is, by its conditions.
func StageOf(object *api.ProvisioningRequest) Stage {
	conditions := object.Status.Conditions
	switch {
	case api.ConditionTrue(conditions, api.ConditionFailed), api.ConditionTrue(conditions, api.ConditionBookingExpired):
		return Over
	case api.ConditionTrue(conditions, api.ConditionProvisioned):
		return Booked
	}
	return Waits
}

// IsOurs reports whether the request's class is one that Whittle carries out.
func IsOurs(object *api.ProvisioningRequest) bool {
	class := object.Spec.ProvisioningClassName
	return class == api.CheckCapacityClass || class == api.AtomicScaleUpClass
}

// Request is a ProvisioningRequest that is not over, with its pods.
type Request struct {
	Object *api.ProvisioningRequest
	Stage  Stage
	// Pods are virtual, and lack as many of them as real pods have come.
	Pods []corev1.Pod
	// asked is how many pods the request asks for, and came is how many real pods have come.
	asked, came int
	// topology is the key of a node label of which all pods need one value, or empty.
	topology string
	// problem says what keeps the pods from being known.
	problem string
}

// Resolve returns the request with its pods. The templates are the PodTemplates of its namespace by
// name, and lack those that do not exist. The pods of the cluster show which real pods have come.
func Resolve(
	object *api.ProvisioningRequest, templates map[string]*corev1.PodTemplateSpec, pods []corev1.Pod,
	ranges []corev1.LimitRange,
) Request {
	r := Request{Object: object, Stage: StageOf(object), topology: topologyOf(object, templates)}
	for i := range object.Spec.PodSets {
		set := &object.Spec.PodSets[i]
		template := templates[set.PodTemplateRef.Name]
		if template == nil {
			r.problem = fmt.Sprintf("spec.podSets[%d].podTemplateRef: the PodTemplate %q does not exist: create it", i,
				set.PodTemplateRef.Name)
			r.Pods = nil
			return r
		}
		r.asked += int(set.Count)
		if r.asked > mostPods {
			r.problem = fmt.Sprintf("spec.podSets: the request asks for more than %d pods: divide it", mostPods)
			r.Pods = nil
			return r
		}
		pod := virtual.Of(template, object.Namespace, object.CreationTimestamp, ranges)
		pod.Labels = withLabel(pod.Labels, api.PodGroupLabelKey, r.Gang().Name)
		// Consolidation would move the room while the real pods come.
		pod.Annotations = map[string]string{api.DoNotDisruptAnnotationKey: "true"}
		if r.topology != "" {
			pod.Annotations[api.RequiredTopologyAnnotationKey] = r.topology
		}
		if value := object.Status.ProvisioningClassDetails[r.topology]; value != "" {
			pod.Spec.NodeSelector = withLabel(pod.Spec.NodeSelector, r.topology, value)
		}
		r.Pods = append(r.Pods, virtual.Copies(pod, fmt.Sprintf("%s-%d", object.Name, i),
			fmt.Sprintf("%s%s-%d", identityPrefix, object.UID, i), int(set.Count))...)
	}
	for i := range pods {
		if pod := &pods[i]; pod.Spec.NodeName != "" && !scheduling.IsVirtual(pod) && consumes(pod) == nameOf(object) {
			r.came++
		}
	}
	r.Pods = r.Pods[min(r.came, len(r.Pods)):]
	return r
}

// Within takes the room of the request's pods from the quota of its namespace. A request that waits, and
// for which there is too little, has that as its problem.
func (r *Request) Within(room *quota.Room) {
	if by := room.TakeAll(r.Pods); by != "" && r.Stage == Waits {
		r.problem = fmt.Sprintf("the ResourceQuota %q has no room for the request's %d pods: raise it, or lower the request",
			by, len(r.Pods))
		r.Pods = nil
	}
}

// topologyOf is the key of the label that the first template with such an annotation names. It
// counts for all pods of the request.
func topologyOf(object *api.ProvisioningRequest, templates map[string]*corev1.PodTemplateSpec) string {
	for i := range object.Spec.PodSets {
		template := templates[object.Spec.PodSets[i].PodTemplateRef.Name]
		if template == nil {
			continue
		}
		if key := api.RequiredTopology(template.Annotations); key != "" {
			return key
		}
	}
	return ""
}

// withLabel is a copy of the labels, which others share, with one more.
func withLabel(labels map[string]string, key, value string) map[string]string {
	own := maps.Clone(labels)
	if own == nil {
		own = map[string]string{}
	}
	own[key] = value
	return own
}

// identityPrefix begins the identity of the pods of requests.
const identityPrefix = "request-"

// Gang is the gang of the request's pods. No PodGroup has its name, in which a slash is invalid.
func (r *Request) Gang() plan.Gang {
	return plan.Gang{
		GangRef:   plan.GangRef{Namespace: r.Object.Namespace, Name: "provisioningrequest/" + r.Object.Name},
		MinMember: len(r.Pods),
	}
}

// Grows reports whether new nodes may be launched for the request.
func (r *Request) Grows() bool {
	return r.Stage == Booked || r.Object.Spec.ProvisioningClassName == api.AtomicScaleUpClass
}

func nameOf(object *api.ProvisioningRequest) types.NamespacedName {
	return types.NamespacedName{Namespace: object.Namespace, Name: object.Name}
}

// consumes names the request whose room the pod is for, or is empty.
func consumes(pod *corev1.Pod) types.NamespacedName {
	name := pod.Annotations[api.ConsumeRequestAnnotationKey]
	if name == "" {
		name = pod.Annotations[api.OldConsumeRequestAnnotationKey]
	}
	if name == "" {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: pod.Namespace, Name: name}
}

// NameOf is the name of the request that the pod says it consumes, or empty.
func NameOf(pod *corev1.Pod) string { return consumes(pod).Name }

// Consumed reports whether one of the requests, which are not over, has room for the pod, or asks
// for it. No plan then needs a place for the pod. Once its request is over or gone, the pod waits
// like any other. Cluster Autoscaler lets it wait for ever.
func Consumed(pod *corev1.Pod, requests []Request) bool {
	name := consumes(pod)
	if name.Name == "" {
		return false
	}
	for i := range requests {
		if nameOf(requests[i].Object) == name {
			return true
		}
	}
	return false
}
