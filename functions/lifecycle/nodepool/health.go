package nodepool

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclaim"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/registration"
)

// reasonAwaiting is Karpenter's reason while no launch has been seen.
const reasonAwaiting = api.ReasonAwaitingReconciliation

// outcomes are the results of the launches of the pool's claims.
func outcomes(pool string, claims []api.NodeClaim, now time.Time) []registration.Outcome {
	var seen []registration.Outcome
	for i := range claims {
		outcome, known := outcomeOf(&claims[i], now)
		if known && claims[i].Labels[api.NodePoolLabelKey] == pool {
			seen = append(seen, outcome)
		}
	}
	return seen
}

// outcomeOf is the result of the claim's launch, once there is one. A claim that was deleted before
// its time to register was over has not failed. A claim whose node has vanished was registered
// before.
func outcomeOf(claim *api.NodeClaim, now time.Time) (registration.Outcome, bool) {
	registered := api.GetCondition(claim.Status.Conditions, api.ConditionTypeRegistered)
	if registered != nil && registered.Status == metav1.ConditionTrue {
		return registration.Outcome{
			Claim: claim.Name, Result: registration.Registered, At: registered.LastTransitionTime.UTC(),
		}, true
	}
	if claim.Status.NodeName != "" {
		return registration.Outcome{}, false
	}
	limit := nodeclaim.GivenUpAt(claim).UTC().Truncate(time.Second)
	if now.Before(limit) || claim.DeletionTimestamp != nil && claim.DeletionTimestamp.Time.Before(limit) {
		return registration.Outcome{}, false
	}
	given := registration.Outcome{Claim: claim.Name, Result: registration.Failed, At: limit}
	if claim.Status.ProviderID == "" {
		given.Result = registration.Unlaunched
	}
	return given, true
}

// registrationHealth is the condition NodeRegistrationHealthy. It is false when two of the last
// four launches gave no node. After a change of the pool or its class it is unknown until a launch
// is seen.
func registrationHealth(
	pool *api.NodePool, class *api.EC2NodeClass, claims []api.NodeClaim, now time.Time,
) metav1.Condition {
	condition := metav1.Condition{
		Type: api.ConditionTypeNodeRegistrationHealthy, Status: metav1.ConditionUnknown, Reason: reasonAwaiting,
	}
	old := api.GetCondition(pool.Status.Conditions, condition.Type)
	known, read := registration.Launches{}, false
	if old != nil {
		known, read = registration.Parse(old.Message)
	}
	changed := old == nil || old.ObservedGeneration != pool.Generation ||
		class != nil && pool.Status.NodeClassObservedGeneration != class.Generation
	switch {
	case old == nil && pool.Generation <= 1:
		known = registration.Launches{Since: pool.CreationTimestamp.UTC()}
	case changed:
		known = registration.Launches{Since: now.UTC().Truncate(time.Second)}
	default:
		// A status that Karpenter wrote stands until a launch is seen.
		condition.Status, condition.Reason = old.Status, old.Reason
		if !read {
			known = registration.Launches{Since: now.UTC().Truncate(time.Second)}
		}
	}
	known.Add(outcomes(pool.Name, claims, now)...)
	condition.Message = known.String()
	switch {
	case len(known.Last) == 0:
	case known.Unhealthy():
		condition.Status, condition.Reason = metav1.ConditionFalse, api.ReasonRegistrationFailed
	default:
		condition.Status, condition.Reason = metav1.ConditionTrue, ""
	}
	return condition
}
