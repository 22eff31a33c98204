package apiserver

import (
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func (k *Kind) resource() schema.GroupResource {
	return schema.GroupResource{Group: k.Group, Resource: k.Plural}
}

func alreadyExists(kind *Kind, name string) error {
	return apierrors.NewAlreadyExists(kind.resource(), name)
}

func notFound(kind *Kind, name string) error { return apierrors.NewNotFound(kind.resource(), name) }

func conflict(kind *Kind, name, why string) error {
	return apierrors.NewConflict(kind.resource(), name, errors.New(why))
}

func invalid(kind *Kind, name, why string) error {
	err := apierrors.NewInvalid(schema.GroupKind{Group: kind.Group, Kind: kind.Name}, name, nil)
	err.ErrStatus.Message = fmt.Sprintf("%s %q is invalid: %s", kind.Name, name, why)
	return err
}

func expired() error {
	return apierrors.NewResourceExpired("The provided continue parameter or resource version is too old")
}

// refusedEviction is the answer to an eviction that a disruption budget does not allow, or whose
// budget is not computed yet. Then it asks the client to come again after ten seconds.
func refusedEviction(budget *policyv1.PodDisruptionBudget) error {
	seconds, because := 0, "does not allow another eviction"
	if budget.Status.ObservedGeneration < budget.Generation {
		seconds, because = 10, "is still being processed by the server."
	}
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", seconds)
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget " + budget.Name + " " + because,
	})
	return err
}

// statusOf is the Status of an error.
func statusOf(err error) metav1.Status {
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		status := known.Status()
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		return status
	}
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError, Message: err.Error(),
	}
}

// graceOf is how many seconds a pod keeps after its deletion. A pod without a node has none.
// https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination
func graceOf(current *Object, asked *int64) int64 {
	pod, ok := current.Typed.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return 0
	}
	if asked != nil {
		return max(*asked, 0)
	}
	if pod.Spec.TerminationGracePeriodSeconds != nil {
		return *pod.Spec.TerminationGracePeriodSeconds
	}
	return 30
}
