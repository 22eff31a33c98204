// Package protection tells what keeps pods and nodes from being disrupted: annotations of a person,
// and PodDisruptionBudgets. It also tells what an eviction costs. It is a leaf of package
// disruption and looks at pods and nodes one at a time.
package protection

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

const (
	// protects is the value of karpenter.sh/do-not-disrupt that protects without end, and the value
	// of Cluster Autoscaler's scale-down-disabled.
	protects = "true"
	// unsafe is the value of Cluster Autoscaler's safe-to-evict that keeps the node.
	unsafe = "false"
)

// Protection is what the annotation karpenter.sh/do-not-disrupt does for a pod.
type Protection struct {
	// Active says that the pod must not be disrupted now.
	Active bool
	// Until is when the protection ends. It is zero if the protection has no end, or if the pod has
	// not started, so that the end is not known.
	Until time.Time
}

// OfPod reads the annotation. "true" protects without end, and a Go duration protects for that time
// from the pod's start. The error names the annotation if it is neither. As in Karpenter, such a
// pod is not protected. Neither is a pod that has ended or is ending.
func OfPod(pod *corev1.Pod, now time.Time) (Protection, error) {
	value, present := pod.Annotations[api.DoNotDisruptAnnotationKey]
	if !present || scheduling.IsTerminal(pod) || pod.DeletionTimestamp != nil {
		return Protection{}, nil
	}
	if value == protects {
		return Protection{Active: true}, nil
	}
	period, err := time.ParseDuration(value)
	if err != nil {
		if value == "false" {
			return Protection{}, nil
		}
		return Protection{}, fmt.Errorf("pod %s/%s: annotation %s is %q: write \"true\", or a duration such as 10m",
			pod.Namespace, pod.Name, api.DoNotDisruptAnnotationKey, value)
	}
	if pod.Status.StartTime == nil {
		return Protection{Active: true}, nil
	}
	until := pod.Status.StartTime.Add(period)
	return Protection{Active: now.Before(until), Until: until}, nil
}

// ZoneShiftedAnnotationKey marks a node of a snapshot whose zone a zonal shift moves traffic away
// from. The value is the end of the shift. It is never written to the cluster.
const ZoneShiftedAnnotationKey = api.OwnGroup + "/zone-shifted-until"

// DisputedAnnotationKey marks a node of a snapshot whose claim's providerID other nodes have too. The value
// names them. It is never written to the cluster.
const DisputedAnnotationKey = api.OwnGroup + "/disputed"

// Unsafe is why no disruption of the node is safe, or "". Neither an annotation of a person nor the state
// of the node changes that.
func Unsafe(node *corev1.Node) string {
	if until, shifted := node.Annotations[ZoneShiftedAnnotationKey]; shifted {
		return "a zonal shift away from the node's zone until " + until
	}
	if others, disputed := node.Annotations[DisputedAnnotationKey]; disputed {
		return "another node with its providerID: " + others
	}
	return ""
}

// OfNode is the annotation by which a person keeps the node from being disrupted, with its value,
// or "". It is karpenter.sh/do-not-disrupt, "true" or a Go duration from the node's creation, or
// Cluster Autoscaler's scale-down-disabled.
func OfNode(node *corev1.Node, now time.Time) string {
	if why := Unsafe(node); why != "" {
		return why
	}
	return ofAnnotations(&node.ObjectMeta, now)
}

// OfClaim is OfNode for the annotations of a NodeClaim, which no kubelet can write.
func OfClaim(claim *api.NodeClaim, now time.Time) string {
	return ofAnnotations(&claim.ObjectMeta, now)
}

func ofAnnotations(object *metav1.ObjectMeta, now time.Time) string {
	value := object.Annotations[api.DoNotDisruptAnnotationKey]
	period, err := time.ParseDuration(value)
	switch {
	case value == protects, err == nil && now.Before(object.CreationTimestamp.Add(period)):
		return api.DoNotDisruptAnnotationKey + ": " + value
	case object.Annotations[api.ScaleDownDisabledAnnotationKey] == protects:
		return api.ScaleDownDisabledAnnotationKey + ": " + protects
	}
	return ""
}

// ByAnnotation is the annotation by which the pod protects its node from voluntary disruption now,
// or "". A pod that ends with its node protects it by Karpenter's annotation only. As in Cluster
// Autoscaler, safe-to-evict: "false" does not protect the pod itself: if the node is deleted for
// another reason, the pod is evicted under its PodDisruptionBudget. The value "true" lifts neither
// karpenter.sh/do-not-disrupt nor a budget.
func ByAnnotation(pod *corev1.Pod, now time.Time) string {
	if protection, err := OfPod(pod, now); err == nil && protection.Active {
		return api.DoNotDisruptAnnotationKey
	}
	if pod.Annotations[api.SafeToEvictAnnotationKey] == unsafe && scheduling.IsReschedulable(pod) {
		return api.SafeToEvictAnnotationKey + ": " + unsafe
	}
	return ""
}

// Blocked is the reason why the pods protect their node from disruption, or "". A pod blocks the
// disruption if an annotation protects it. A pod that a drain evicts blocks it too if its
// PodDisruptionBudget allows no eviction now, or if several budgets cover it: the eviction API refuses
// such pods.
func Blocked(pods []*corev1.Pod, budgets []policyv1.PodDisruptionBudget, now time.Time) string {
	for _, pod := range pods {
		if scheduling.IsTerminal(pod) || pod.DeletionTimestamp != nil {
			continue
		}
		if annotation := ByAnnotation(pod, now); annotation != "" {
			return fmt.Sprintf("pod %s/%s has the annotation %s", pod.Namespace, pod.Name, annotation)
		}
		if refused := RefusedByBudget(pod, budgets); refused != "" {
			return refused
		}
	}
	return ""
}

// HoldsDrain is the reason why the drain of the pod's node waits for the pod now, other than the pod's
// grace, or "". Until the claim's deadline only its annotation or a disruption budget holds it.
func HoldsDrain(pod *corev1.Pod, budgets []policyv1.PodDisruptionBudget, now time.Time) string {
	if !scheduling.IsEvicted(pod) || pod.DeletionTimestamp != nil {
		return ""
	}
	held, err := OfPod(pod, now)
	switch {
	case err != nil || !held.Active:
		return RefusedByBudget(pod, budgets)
	case !held.Until.IsZero():
		return fmt.Sprintf("pod %s/%s has the annotation %s until %s", pod.Namespace, pod.Name,
			api.DoNotDisruptAnnotationKey, held.Until.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("pod %s/%s has the annotation %s", pod.Namespace, pod.Name, api.DoNotDisruptAnnotationKey)
}

// RefusedByBudget is why the eviction API refuses a pod that a drain evicts, or "".
func RefusedByBudget(pod *corev1.Pod, budgets []policyv1.PodDisruptionBudget) string {
	if !scheduling.IsEvicted(pod) {
		return ""
	}
	covering := Covering(budgets, pod)
	switch {
	case len(covering) > 1:
		return fmt.Sprintf("pod %s/%s is covered by %d pod disruption budgets, and the eviction API takes one",
			pod.Namespace, pod.Name, len(covering))
	case len(covering) == 1 && covering[0].Status.DisruptionsAllowed <= 0 && !allowsUnready(covering[0], pod):
		return fmt.Sprintf("PDB %s/%s allows 0 evictions (%d pods healthy, %d needed): pod %s stays",
			pod.Namespace, covering[0].Name, covering[0].Status.CurrentHealthy, covering[0].Status.DesiredHealthy, pod.Name)
	}
	return ""
}

// Immovable tells whether no eviction of the pod can succeed until a person changes something or a
// protection ends. The pod is protected, its budget never allows a disruption, or several budgets
// cover it.
func Immovable(pod *corev1.Pod, budgets []policyv1.PodDisruptionBudget, now time.Time) bool {
	if protection, err := OfPod(pod, now); err == nil && protection.Active {
		return true
	}
	if !scheduling.IsEvicted(pod) {
		return false
	}
	covering := Covering(budgets, pod)
	return len(covering) > 1 || len(covering) == 1 && allowsNone(&covering[0].Spec) && !allowsUnready(covering[0], pod)
}

// allowsNone tells whether the budget never allows a disruption, however many pods are ready.
func allowsNone(spec *policyv1.PodDisruptionBudgetSpec) bool {
	if most := spec.MaxUnavailable; most != nil {
		return most.String() == "0" || most.String() == "0%"
	}
	return spec.MinAvailable != nil && spec.MinAvailable.String() == "100%"
}

// Covering are the budgets that select the pod.
func Covering(budgets []policyv1.PodDisruptionBudget, pod *corev1.Pod) []*policyv1.PodDisruptionBudget {
	var covering []*policyv1.PodDisruptionBudget
	if scheduling.IsVirtual(pod) {
		return nil // nobody evicts it
	}
	for i := range budgets {
		if budgets[i].Namespace != pod.Namespace {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(budgets[i].Spec.Selector)
		// The API server stores no selector that cannot be parsed.
		if err == nil && selector.Matches(labels.Set(pod.Labels)) {
			covering = append(covering, &budgets[i])
		}
	}
	return covering
}

// allowsUnready tells whether the pod is not ready and the budget always allows the eviction of
// such pods (unhealthyPodEvictionPolicy: AlwaysAllow).
func allowsUnready(budget *policyv1.PodDisruptionBudget, pod *corev1.Pod) bool {
	policy := budget.Spec.UnhealthyPodEvictionPolicy
	if policy == nil || *policy != policyv1.AlwaysAllow {
		return false
	}
	return !IsReady(pod)
}

// IsReady tells whether the pod's condition Ready is true. Disruption budgets may allow the eviction
// of a pod that is not ready although they allow no disruption.
func IsReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
	})
}
