package provisioningrequest

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/virtual"
)

// Conditions returns the conditions that the request should have after a plan, and whether that is
// new. A plan that did not see all of the request's pods says nothing about their room. Initialized
// reports whether the node of a nomination is.
func (r *Request) Conditions(
	o virtual.Outcome, initialized func(plan.Nomination) bool, now time.Time,
) (conditions []metav1.Condition, changed bool) {
	conditions = slices.Clone(r.Object.Status.Conditions)
	for _, wanted := range r.wanted(o, initialized, now) {
		wanted.ObservedGeneration = r.Object.Generation
		changed = api.SetCondition(&conditions, wanted, now) || changed
	}
	return conditions, changed
}

func (r *Request) wanted(
	o virtual.Outcome, initialized func(plan.Nomination) bool, now time.Time,
) []metav1.Condition {
	switch {
	case r.Stage == Booked:
		return r.expiry(now)
	case r.Stage == Over:
		return nil
	case r.problem != "" && now.Sub(r.Object.CreationTimestamp.Time) < templatesWithin:
		return nil
	case r.problem != "":
		return []metav1.Condition{failed(api.ReasonFailedToCreatePods, r.problem)}
	}
	wanted := []metav1.Condition{{
		Type: api.ConditionAccepted, Status: metav1.ConditionTrue, Reason: api.ConditionAccepted,
		Message: fmt.Sprintf("Whittle plans for %d pods", r.asked),
	}}
	provisioned, room, known := r.provisioned(o, initialized)
	if !known {
		return wanted
	}
	wanted = append(wanted, provisioned)
	if room {
		return wanted
	}
	once := r.Object.Spec.ProvisioningClassName == api.CheckCapacityClass &&
		r.Object.Spec.Parameters[api.NoRetryParameter] == "true"
	if once || r.isLate(now) {
		wanted = append(wanted, failed(api.ReasonCapacityIsNotFound, provisioned.Message))
	}
	return wanted
}

func failed(reason, message string) metav1.Condition {
	return metav1.Condition{Type: api.ConditionFailed, Status: metav1.ConditionTrue, Reason: reason, Message: message}
}

// isLate reports whether the request has waited for room for too long.
func (r *Request) isLate(now time.Time) bool {
	accepted := api.GetCondition(r.Object.Status.Conditions, api.ConditionAccepted)
	return accepted != nil && now.Sub(accepted.LastTransitionTime.Time) >= failsAfter
}

// provisioned is the condition Provisioned, if the plan saw all pods. Room reports whether all of them
// have nodes, which may still boot: a node with many devices may take longer than a request waits.
// Lifecycle ends a node that does not join, and then the room is gone.
func (r *Request) provisioned(
	o virtual.Outcome, initialized func(plan.Nomination) bool,
) (condition metav1.Condition, room, known bool) {
	fits, ready, why := 0, 0, ""
	for i := range r.Pods {
		ref := plan.RefOf(&r.Pods[i])
		if !o.Known[ref] {
			return condition, false, false
		}
		if nomination, has := o.Fits[ref]; has {
			fits++
			if initialized(nomination) {
				ready++
			}
		}
		if why == "" {
			why = o.Unplaced[ref]
		}
	}
	condition = metav1.Condition{Type: api.ConditionProvisioned, Status: metav1.ConditionFalse,
		Reason: api.ReasonCapacityIsNotFound}
	switch count := len(r.Pods); {
	case ready == count:
		condition.Status, condition.Reason = metav1.ConditionTrue, api.ReasonCapacityIsProvisioned
		if r.Object.Spec.ProvisioningClassName == api.CheckCapacityClass {
			condition.Reason = api.ReasonCapacityIsFound
		}
		condition.Message = fmt.Sprintf("Nodes have room for %d pods", count)
	case fits == count:
		condition.Message = fmt.Sprintf("nodes of %d of %d pods are not initialized yet", count-ready, count)
	case why != "":
		condition.Message = fmt.Sprintf("%d pods have no room together: %s", count, why)
	default:
		condition.Message = fmt.Sprintf("nodes for %d of %d pods are launched", count-fits, count)
	}
	return condition, fits == len(r.Pods), true
}

// Details are the value of the label of which the request's pods need one value, once these
// conditions say that it is provisioned. Labels returns those of the node of a nomination.
func (r *Request) Details(
	conditions []metav1.Condition, o virtual.Outcome, labels func(plan.Nomination) map[string]string,
) map[string]string {
	if r.Stage != Waits || r.topology == "" || !api.ConditionTrue(conditions, api.ConditionProvisioned) {
		return nil
	}
	for i := range r.Pods {
		if nomination, has := o.Fits[plan.RefOf(&r.Pods[i])]; has {
			return map[string]string{r.topology: labels(nomination)[r.topology]}
		}
	}
	return nil
}

// expiry ends a booking whose pods have come, or whose time is over.
func (r *Request) expiry(now time.Time) []metav1.Condition {
	provisioned := api.GetCondition(r.Object.Status.Conditions, api.ConditionProvisioned)
	expired := metav1.Condition{Type: api.ConditionBookingExpired, Status: metav1.ConditionTrue}
	switch {
	case r.problem == "" && r.came >= r.asked:
		expired.Reason, expired.Message = api.ReasonCapacityBookingConsumed, "all pods have their nodes"
	case now.Sub(provisioned.LastTransitionTime.Time) >= bookedFor:
		expired.Reason = api.ReasonCapacityReservationTimeEnded
		expired.Message = fmt.Sprintf("%d of %d pods have come within %s", r.came, r.asked, bookedFor)
	default:
		return nil
	}
	return []metav1.Condition{expired}
}
