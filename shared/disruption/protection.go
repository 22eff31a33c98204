package disruption

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

const (
	// protects is the value of karpenter.sh/do-not-disrupt that protects without end, and
	// that of Cluster Autoscaler's scale-down-disabled.
	protects = "true"
	// unsafe is the value of Cluster Autoscaler's safe-to-evict that protects.
	unsafe = "false"
)

// Protection is what the annotation karpenter.sh/do-not-disrupt does for a pod.
type Protection struct {
	// Active tells that the pod must not be disrupted now.
	Active bool
	// Until is when the protection ends; zero when it does not, or when its end is
	// not known because the pod has not started.
	Until time.Time
}

// PodProtection reads the annotation: "true" protects without end, a Go duration
// protects for so long from the pod's start. The error names the annotation when
// it is neither; such a pod is not protected, as in Karpenter. A pod that has
// ended or is ending is past protecting.
func PodProtection(pod *corev1.Pod, now time.Time) (Protection, error) {
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

// NodeProtected tells whether a person keeps the node from being disrupted: by
// karpenter.sh/do-not-disrupt, "true" or a Go duration from the node's creation, or by
// Cluster Autoscaler's scale-down-disabled.
func NodeProtected(node *corev1.Node, now time.Time) bool {
	return NodeProtectedBy(node, now) != ""
}

// NodeProtectedBy is the annotation by which a person keeps the node, with its value, or "".
func NodeProtectedBy(node *corev1.Node, now time.Time) string {
	value := node.Annotations[api.DoNotDisruptAnnotationKey]
	period, err := time.ParseDuration(value)
	switch {
	case value == protects, err == nil && now.Before(node.CreationTimestamp.Add(period)):
		return api.DoNotDisruptAnnotationKey + ": " + value
	case node.Annotations[api.ScaleDownDisabledAnnotationKey] == protects:
		return api.ScaleDownDisabledAnnotationKey + ": " + protects
	}
	return ""
}

// protectedBy names the annotation by which the pod keeps its node from voluntary
// disruption now, or is empty. Cluster Autoscaler's does no more than that, as with it:
// where the node goes all the same the pod is evicted, under its disruption budget. That
// a pod is safe to evict lifts neither karpenter.sh/do-not-disrupt nor a budget. Pods that
// go with their node keep it by Karpenter's annotation only.
func protectedBy(pod *corev1.Pod, now time.Time) string {
	if protection, err := PodProtection(pod, now); err == nil && protection.Active {
		return api.DoNotDisruptAnnotationKey
	}
	if pod.Annotations[api.SafeToEvictAnnotationKey] == unsafe && scheduling.IsReschedulable(pod) {
		return api.SafeToEvictAnnotationKey + ": " + unsafe
	}
	return ""
}

// Blocked says why the pods keep their node from being disrupted, or "": a pod is
// protected, or a disruption budget allows no eviction of it now, or more than
// one budget covers it, which the eviction API refuses.
func Blocked(pods []*corev1.Pod, budgets []policyv1.PodDisruptionBudget, now time.Time) string {
	for _, pod := range pods {
		if scheduling.IsTerminal(pod) || pod.DeletionTimestamp != nil {
			continue
		}
		if annotation := protectedBy(pod, now); annotation != "" {
			return fmt.Sprintf("pod %s/%s has the annotation %s", pod.Namespace, pod.Name, annotation)
		}
		if scheduling.IsStatic(pod) {
			continue
		}
		covering := covers(budgets, pod)
		switch {
		case len(covering) > 1:
			return fmt.Sprintf("pod %s/%s is covered by %d pod disruption budgets, and the eviction API takes one", pod.Namespace, pod.Name, len(covering))
		case len(covering) == 1 && covering[0].Status.DisruptionsAllowed <= 0 && !evictedThough(covering[0], pod):
			return fmt.Sprintf("pod disruption budget %s/%s allows no disruption of pod %s", pod.Namespace, covering[0].Name, pod.Name)
		}
	}
	return ""
}

// Immovable tells whether no eviction of the pod succeeds until a person changes
// something or a protection runs out: it is protected, a budget never lets any of
// its pods go, or more than one budget covers it.
func Immovable(pod *corev1.Pod, budgets []policyv1.PodDisruptionBudget, now time.Time) bool {
	if protection, err := PodProtection(pod, now); err == nil && protection.Active {
		return true
	}
	covering := covers(budgets, pod)
	return len(covering) > 1 || len(covering) == 1 && allowsNone(&covering[0].Spec) && !evictedThough(covering[0], pod)
}

// allowsNone tells whether the budget never allows a disruption, whatever runs.
func allowsNone(spec *policyv1.PodDisruptionBudgetSpec) bool {
	if most := spec.MaxUnavailable; most != nil {
		return most.String() == "0" || most.String() == "0%"
	}
	return spec.MinAvailable != nil && spec.MinAvailable.String() == "100%"
}

// covers gives the budgets that select the pod.
func covers(budgets []policyv1.PodDisruptionBudget, pod *corev1.Pod) []*policyv1.PodDisruptionBudget {
	var covering []*policyv1.PodDisruptionBudget
	for i := range budgets {
		if budgets[i].Namespace != pod.Namespace {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(budgets[i].Spec.Selector)
		// The API server stores no selector that does not parse.
		if err == nil && selector.Matches(labels.Set(pod.Labels)) {
			covering = append(covering, &budgets[i])
		}
	}
	return covering
}

// evictedThough tells whether the budget lets a pod that is not ready go whatever
// else it allows (unhealthyPodEvictionPolicy: AlwaysAllow).
func evictedThough(budget *policyv1.PodDisruptionBudget, pod *corev1.Pod) bool {
	policy := budget.Spec.UnhealthyPodEvictionPolicy
	if policy == nil || *policy != policyv1.AlwaysAllow {
		return false
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status != corev1.ConditionTrue
		}
	}
	return true
}
