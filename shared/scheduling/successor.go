package scheduling

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// A pod that was resized in place comes back with the requests of its controller's template. A plan
// that counted its present requests would move it to a node that is too small for its successor, buy
// a larger one, and begin anew once the pod has been resized again. Package sight reads the templates
// of such pods, and marks the pods with what Successor adds.

const (
	// comesBackAnnotationKey marks a pod of a snapshot with the requests that its successor has
	// beyond the pod's own. It is never written to the cluster.
	comesBackAnnotationKey = api.OwnGroup + "/comes-back-with"
	// unreadTemplate is the value where the template was not read.
	unreadTemplate = "unread"
)

// templateOwners are the controllers whose templates are read, by apiVersion and kind. DaemonSets are
// not among them, since their pods have no successor elsewhere.
var templateOwners = []string{"apps/v1 ReplicaSet", "apps/v1 StatefulSet", "batch/v1 Job"}

// autoscalerMarks are annotations of the Vertical Pod Autoscaler on pods that it has resized or made.
// Its webhook gives a successor the recommended requests again, and not the template's.
var autoscalerMarks = []string{"vpaInPlaceUpdated", "vpaUpdates"}

// TemplateOwner returns the controller of a running pod whose successor may have other requests than
// the pod, and nil where it has the pod's own. A resize raises the generation. So do other changes,
// and a template that asks for no more than the pod then changes nothing. The templates of custom
// controllers cannot be read, and their pods count as they are.
func TemplateOwner(pod *corev1.Pod) *metav1.OwnerReference {
	if pod.Generation < 2 || pod.Spec.NodeName == "" || !IsReschedulable(pod) {
		return nil
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || !slices.Contains(templateOwners, owner.APIVersion+" "+owner.Kind) ||
		slices.ContainsFunc(autoscalerMarks, func(key string) bool { return pod.Annotations[key] != "" }) {
		return nil
	}
	return owner
}

// NoteTemplate marks the pod with what the template asks for beyond it. The pod gets annotations of
// its own. A pod that was resized upwards comes back smaller, and counts with its present requests:
// it fits then in any case.
func NoteTemplate(pod *corev1.Pod, template *corev1.PodSpec) {
	more, has := corev1.ResourceList{}, PodRequests(pod)
	for name, amount := range PodRequests(&corev1.Pod{Spec: *template}) {
		if own := has[name]; amount.Cmp(own) > 0 {
			amount.Sub(own)
			more[name] = amount
		}
	}
	if len(more) == 0 {
		return
	}
	written, _ := json.Marshal(more) // quantities can be written
	note(pod, string(written))
}

// NoteUnreadTemplate marks the pod whose template was not read.
func NoteUnreadTemplate(pod *corev1.Pod) { note(pod, unreadTemplate) }

// ForgetTemplate removes the mark of the pod.
func ForgetTemplate(pod *corev1.Pod) {
	if _, marked := pod.Annotations[comesBackAnnotationKey]; marked {
		pod.Annotations = maps.Clone(pod.Annotations)
		delete(pod.Annotations, comesBackAnnotationKey)
	}
}

func note(pod *corev1.Pod, value string) {
	pod.Annotations = maps.Clone(pod.Annotations)
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, comesBackAnnotationKey, value)
}

// UnreadTemplate says why it is not known what the pod's successor requests. It is empty where that is
// known.
func UnreadTemplate(pod *corev1.Pod) string {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || pod.Annotations[comesBackAnnotationKey] != unreadTemplate {
		return ""
	}
	return fmt.Sprintf("pod %s/%s may have been resized in place, and the template of its %s %q was not read",
		pod.Namespace, pod.Name, owner.Kind, owner.Name)
}

// ComesBackLarger reports whether the pod's successor may request more than the pod.
func ComesBackLarger(pod *corev1.Pod) bool {
	noted := pod.Annotations[comesBackAnnotationKey]
	return noted != "" && noted != unreadTemplate
}

// Successor returns the pod that its controller creates once this one has been evicted. It is
// unbound. It requests the larger of the pod's own and its template's, and shares everything else with the
// pod. The pod's own requests count where the template is not known.
func Successor(pod *corev1.Pod) corev1.Pod {
	made := *pod
	made.Spec.NodeName, made.Status.NominatedNodeName, made.DeletionTimestamp = "", "", nil
	noted, marked := pod.Annotations[comesBackAnnotationKey]
	if !marked {
		return made
	}
	made.Annotations = maps.Clone(pod.Annotations)
	delete(made.Annotations, comesBackAnnotationKey)
	var more corev1.ResourceList
	if json.Unmarshal([]byte(noted), &more) != nil {
		return made // it is not read
	}
	// The overhead counts once for the pod, whatever its containers and their status say.
	maps.DeleteFunc(more, func(_ corev1.ResourceName, amount resource.Quantity) bool {
		return amount.Sign() < 0 // a person may have written the annotation
	})
	for name, amount := range made.Spec.Overhead {
		sum := more[name]
		sum.Add(amount)
		more[name] = sum
	}
	made.Spec.Overhead = more
	return made
}
