package buffer

import (
	"cmp"
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/quota"
	"github.com/whittle-dev/whittle/shared/scheduling"
	"github.com/whittle-dev/whittle/shared/virtual"
)

// mostPods bounds the pods of a buffer. One more digit than somebody meant must not buy a thousand
// nodes.
const mostPods = 1000

// podTemplate is the kind of what spec.podTemplateRef names.
const podTemplate = "PodTemplate"

// Reference names an object that has a pod template.
type Reference struct {
	// Kind is PodTemplate, Deployment, StatefulSet or ReplicaSet.
	Kind string
	types.NamespacedName
}

// Source is what a Reference names.
type Source struct {
	Template   corev1.PodTemplateSpec
	Generation int64
	// Replicas is spec.replicas, or one where it is absent. A PodTemplate has none.
	Replicas int32
}

// Buffer is a CapacityBuffer with the pods that it keeps room for.
type Buffer struct {
	Object *api.CapacityBuffer
	// Pods are virtual, and wait for a place.
	Pods []corev1.Pod
	// ready is the condition ReadyForProvisioning. If it is False there are no pods.
	ready metav1.Condition
	// generation is that of the PodTemplate; nil for a buffer of another kind.
	generation *int64
}

// IsOurs reports whether the buffer's strategy is the one that Whittle carries out.
func IsOurs(object *api.CapacityBuffer) bool {
	strategy := object.Spec.ProvisioningStrategy
	return strategy == nil || *strategy == "" || *strategy == api.ActiveCapacityStrategy
}

// ReferenceOf is what the buffer names. The message says which field is wrong where it names
// nothing that can be read.
func ReferenceOf(object *api.CapacityBuffer) (of Reference, problem string) {
	template, scalable := object.Spec.PodTemplateRef, object.Spec.ScalableRef
	switch {
	case len(object.Unreadable) > 0:
		return of, api.UnreadableText(object.Unreadable)
	case template != nil && scalable != nil:
		return of, "spec.podTemplateRef and spec.scalableRef are both set: remove one"
	case template != nil:
		return Reference{podTemplate, types.NamespacedName{Namespace: object.Namespace, Name: template.Name}}, ""
	case scalable == nil && object.Spec.Percentage != nil:
		return of, "spec.percentage needs spec.scalableRef, which names the workload that it is a part of: set it"
	case scalable == nil:
		return of, "neither spec.podTemplateRef nor spec.scalableRef is set: name the pods that the buffer is for"
	}
	switch scalable.Kind {
	case "Deployment", "StatefulSet", "ReplicaSet":
		if scalable.APIGroup == "" || scalable.APIGroup == "apps" {
			return Reference{scalable.Kind, types.NamespacedName{Namespace: object.Namespace, Name: scalable.Name}}, ""
		}
	}
	return of, fmt.Sprintf("spec.scalableRef names a %s of the API group %q: it may be a Deployment, StatefulSet or "+
		"ReplicaSet of the group apps", scalable.Kind, scalable.APIGroup)
}

// Resolve returns the buffer with its pods. The source is what its reference names, and nil if that
// does not exist. Containers without requests get those of the namespace's LimitRanges.
func Resolve(object *api.CapacityBuffer, source *Source, ranges []corev1.LimitRange) Buffer {
	b := Buffer{Object: object}
	of, problem := ReferenceOf(object)
	switch {
	case problem != "":
		return b.notReady(api.ReasonResolutionFailed, problem)
	case source == nil && of.Kind == podTemplate:
		return b.notReady(api.ReasonPodTemplateNotFound,
			fmt.Sprintf("spec.podTemplateRef: the PodTemplate %q does not exist: create it", of.Name))
	case source == nil:
		return b.notReady(api.ReasonScalableRefNotFound,
			fmt.Sprintf("spec.scalableRef: the %s %q does not exist: create it", of.Kind, of.Name))
	}
	if of.Kind == podTemplate {
		b.generation = &source.Generation
		if object.Spec.Replicas == nil && len(object.Spec.Limits) == 0 {
			return b.notReady(api.ReasonResolutionFailed,
				"spec.podTemplateRef needs spec.replicas or spec.limits, which say how many pods the buffer is for: set one")
		}
	}
	pod := virtual.Of(&source.Template, object.Namespace, object.CreationTimestamp, ranges)
	lowest := int32(math.MinInt32)
	pod.Spec.Priority = &lowest
	count := countOf(&object.Spec, source.Replicas, of.Kind == podTemplate, scheduling.PodRequests(&pod))
	message := "The pods are known"
	if count > mostPods {
		message = fmt.Sprintf("the buffer asks for %d pods, and gets %d, the most of one buffer: divide it", count, mostPods)
		count = mostPods
	}
	identity := cmp.Or(string(object.UID), object.Namespace+"/"+object.Name) // a file's has no UID
	b.Pods = virtual.Copies(pod, "capacity-buffer-"+object.Name, identity, count)
	b.ready = condition(object, api.ConditionReadyForProvisioning, metav1.ConditionTrue, api.ReasonBufferResolved, message)
	return b
}

// Bound takes the pods from the buffers with which all would have more than that many. The first
// come first. A plan for more would not fit into a function's memory.
func Bound(buffers []Buffer, most int) {
	total := 0
	for i := range buffers {
		b := &buffers[i]
		if total+len(b.Pods) <= most {
			total += len(b.Pods)
			continue
		}
		b.Pods = nil
		*b = b.notReady(api.ReasonResolutionFailed, fmt.Sprintf("spec.replicas, spec.percentage or spec.limits: this "+
			"buffer and those before it ask for more than %d pods, the most of a cluster: lower them, or delete buffers", most))
	}
}

// Within takes the pods from the buffers that the quotas of their namespaces leave no room for. The first
// buffers come first.
func Within(buffers []Buffer, room *quota.Room) {
	for i := range buffers {
		b := &buffers[i]
		if len(b.Pods) == 0 {
			continue
		}
		taken, by := room.Take(&b.Pods[0], len(b.Pods))
		if by == "" {
			continue
		}
		message := fmt.Sprintf("the ResourceQuota %q has room for %d of the buffer's %d pods: raise it, or lower the buffer",
			by, taken, len(b.Pods))
		if taken == 0 {
			b.Pods = nil
			*b = b.notReady(api.ReasonResolutionFailed, message)
			continue
		}
		b.Pods, b.ready.Message = b.Pods[:taken], message
	}
}

// Problem says what keeps the buffer from having its pods, or nothing.
func (b *Buffer) Problem() string {
	if b.ready.Status == metav1.ConditionTrue {
		return ""
	}
	return b.ready.Message
}

func (b Buffer) notReady(reason, message string) Buffer {
	b.ready = condition(b.Object, api.ConditionReadyForProvisioning, metav1.ConditionFalse, reason, message)
	return b
}

// Pods are the pods of all buffers.
func Pods(buffers []Buffer) []corev1.Pod {
	var pods []corev1.Pod
	for i := range buffers {
		pods = append(pods, buffers[i].Pods...)
	}
	return pods
}

// countOf is the number of pods: the greater of replicas and percentage, at most what the limits
// allow. The proposal speaks of the lesser, and Karpenter takes the greater.
func countOf(spec *api.CapacityBufferSpec, replicas int32, isTemplate bool, requests corev1.ResourceList) int {
	count := 0
	if spec.Replicas != nil {
		count = int(*spec.Replicas)
	}
	hasPercentage := spec.Percentage != nil && !isTemplate
	if hasPercentage {
		count = max(count, int(math.Ceil(float64(*spec.Percentage)*float64(replicas)/100)))
	}
	fits, limited := withinLimits(spec.Limits, requests)
	switch {
	case limited && spec.Replicas == nil && !hasPercentage:
		count = fits
	case limited:
		count = min(count, fits)
	}
	return max(count, 0)
}

// withinLimits is how many pods the limits allow. Limits of resources that the pod does not request
// allow any number.
func withinLimits(limits, requests corev1.ResourceList) (count int, limited bool) {
	for name, limit := range limits {
		request, has := requests[name]
		if !has || request.Sign() <= 0 {
			continue
		}
		fits := int(math.Min(math.Floor(limit.AsApproximateFloat64()/request.AsApproximateFloat64()+1e-9), math.MaxInt32))
		if !limited || fits < count {
			count, limited = fits, true
		}
	}
	return count, limited
}
