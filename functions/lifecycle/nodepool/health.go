package nodepool

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclaim"
	"github.com/whittle-dev/whittle/shared/api"
)

const (
	// remembered is the number of launches that decide a pool's health. The pool is unhealthy from
	// unhealthyFrom failed ones on. Both are Karpenter's.
	remembered    = 4
	unhealthyFrom = 2

	// reasonAwaiting is Karpenter's reason while no launch has been seen.
	reasonAwaiting = api.ReasonAwaitingReconciliation
)

// outcome is the result of a launch.
type outcome struct {
	claim  string
	failed bool
	at     time.Time // when the node registered, or was given up
}

// launches are a pool's last launches since its template or its class changed, the newest last. The
// condition's message holds them, for people and for the next pass. By then the failed claims are
// gone.
type launches struct {
	since time.Time
	last  []outcome
}

// String is the condition's message. parseLaunches reads it.
func (l launches) String() string {
	var parts []string
	for _, one := range l.last {
		parts = append(parts, fmt.Sprintf("%s %s %s", one.claim, verb(one.failed), one.at.UTC().Format(time.RFC3339)))
	}
	return "Launches since " + l.since.UTC().Format(time.RFC3339) + ": " + strings.Join(parts, ", ")
}

func verb(failed bool) string {
	if failed {
		return "failed"
	}
	return "registered"
}

// parseLaunches reads a condition's message. It reports false for a message of Karpenter or a
// person.
func parseLaunches(message string) (read launches, ok bool) {
	message, begins := strings.CutPrefix(message, "Launches since ")
	since, list, cut := strings.Cut(message, ": ")
	at, err := time.Parse(time.RFC3339, since)
	if !begins || !cut || err != nil {
		return launches{}, false
	}
	read.since = at
	for item := range strings.SplitSeq(list, ", ") {
		parts := strings.Fields(item)
		if len(parts) != 3 {
			continue
		}
		if at, err := time.Parse(time.RFC3339, parts[2]); err == nil {
			read.last = append(read.last, outcome{claim: parts[0], failed: parts[1] == verb(true), at: at})
		}
	}
	return read, true
}

// add adds the results of the pool's claims. Neither the order of the claims nor a claim that was
// added before changes the outcome.
func (l *launches) add(pool string, claims []api.NodeClaim, now time.Time) {
	for i := range claims {
		claim := &claims[i]
		seen, known := outcomeOf(claim, now)
		added := slices.ContainsFunc(l.last, func(o outcome) bool { return o.claim == claim.Name })
		if known && !added && claim.Labels[api.NodePoolLabelKey] == pool && !seen.at.Before(l.since) {
			l.last = append(l.last, seen)
		}
	}
	slices.SortFunc(l.last, func(a, b outcome) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.claim, b.claim))
	})
	if more := len(l.last) - remembered; more > 0 {
		l.last = l.last[more:]
	}
}

// outcomeOf is the result of the claim's launch, once there is one. A claim that was deleted before
// its time to register was over has not failed. A claim whose node has vanished was registered
// before.
func outcomeOf(claim *api.NodeClaim, now time.Time) (outcome, bool) {
	registered := api.GetCondition(claim.Status.Conditions, api.ConditionTypeRegistered)
	if registered != nil && registered.Status == metav1.ConditionTrue {
		return outcome{claim: claim.Name, at: registered.LastTransitionTime.UTC()}, true
	}
	if claim.Status.NodeName != "" {
		return outcome{}, false
	}
	limit := nodeclaim.GivenUpAt(claim).UTC().Truncate(time.Second)
	if now.Before(limit) || claim.DeletionTimestamp != nil && claim.DeletionTimestamp.Time.Before(limit) {
		return outcome{}, false
	}
	return outcome{claim: claim.Name, failed: true, at: limit}, true
}

func (l *launches) failed() int {
	count := 0
	for _, one := range l.last {
		if one.failed {
			count++
		}
	}
	return count
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
	known, read := launches{}, false
	if old != nil {
		known, read = parseLaunches(old.Message)
	}
	changed := old == nil || old.ObservedGeneration != pool.Generation ||
		class != nil && pool.Status.NodeClassObservedGeneration != class.Generation
	switch {
	case old == nil && pool.Generation <= 1:
		known = launches{since: pool.CreationTimestamp.UTC()}
	case changed:
		known = launches{since: now.UTC().Truncate(time.Second)}
	default:
		// A status that Karpenter wrote stands until a launch is seen.
		condition.Status, condition.Reason = old.Status, old.Reason
		if !read {
			known = launches{since: now.UTC().Truncate(time.Second)}
		}
	}
	known.add(pool.Name, claims, now)
	condition.Message = known.String()
	switch {
	case len(known.last) == 0:
	case known.failed() >= unhealthyFrom:
		condition.Status, condition.Reason = metav1.ConditionFalse, api.ReasonRegistrationFailed
	default:
		condition.Status, condition.Reason = metav1.ConditionTrue, ""
	}
	return condition
}
