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
	// remembered is how many launches a pool's health goes by, and unhealthyFrom how many
	// of them that failed make it unhealthy: Karpenter's.
	remembered    = 4
	unhealthyFrom = 2

	// reasonAwaiting is Karpenter's for what nothing has been seen of yet.
	reasonAwaiting = "AwaitingReconciliation"
)

// outcome is what came of a launch.
type outcome struct {
	claim  string
	failed bool
	at     time.Time // when the node registered, or was given up
}

// launches are a pool's last launches, the newest last, since its template or its class
// changed. They are written in the condition's message, for people and for the next look,
// which knows nothing else: claims that failed are gone by then.
type launches struct {
	since time.Time
	last  []outcome
}

// String is the condition's message. parseLaunches reads it.
func (l launches) String() string {
	var words []string
	for _, one := range l.last {
		words = append(words, fmt.Sprintf("%s %s %s", one.claim, verb(one.failed), one.at.UTC().Format(time.RFC3339)))
	}
	return "Launches since " + l.since.UTC().Format(time.RFC3339) + ": " + strings.Join(words, ", ")
}

func verb(failed bool) string {
	if failed {
		return "failed"
	}
	return "registered"
}

// parseLaunches reads a condition's message. What Karpenter wrote, or a person, is none.
func parseLaunches(message string) (read launches, ok bool) {
	message, begins := strings.CutPrefix(message, "Launches since ")
	since, list, cut := strings.Cut(message, ": ")
	at, err := time.Parse(time.RFC3339, since)
	if !begins || !cut || err != nil {
		return launches{}, false
	}
	read.since = at
	for word := range strings.SplitSeq(list, ", ") {
		parts := strings.Fields(word)
		if len(parts) != 3 {
			continue
		}
		if at, err := time.Parse(time.RFC3339, parts[2]); err == nil {
			read.last = append(read.last, outcome{claim: parts[0], failed: parts[1] == verb(true), at: at})
		}
	}
	return read, true
}

// add notes what has come of the pool's claims. That the same claim is seen again changes
// nothing, and nor does the order in which they are seen.
func (l *launches) add(pool string, claims []api.NodeClaim, now time.Time) {
	for i := range claims {
		claim := &claims[i]
		seen, known := outcomeOf(claim, now)
		told := slices.ContainsFunc(l.last, func(o outcome) bool { return o.claim == claim.Name })
		if known && !told && claim.Labels[api.NodePoolLabelKey] == pool && !seen.at.Before(l.since) {
			l.last = append(l.last, seen)
		}
	}
	slices.SortFunc(l.last, func(a, b outcome) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.claim, b.claim)) })
	if more := len(l.last) - remembered; more > 0 {
		l.last = l.last[more:]
	}
}

// outcomeOf is what has come of the claim's launch, once something has. A claim that was
// deleted before it could register has not failed.
func outcomeOf(claim *api.NodeClaim, now time.Time) (outcome, bool) {
	registered := api.GetCondition(claim.Status.Conditions, api.ConditionTypeRegistered)
	if registered != nil && registered.Status == metav1.ConditionTrue {
		return outcome{claim: claim.Name, at: registered.LastTransitionTime.UTC()}, true
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

// registrationHealth is the condition NodeRegistrationHealthy: false when two of the last
// four launches gave no node, unknown until one has been seen since the pool or its class
// has changed.
func registrationHealth(pool *api.NodePool, class *api.EC2NodeClass, claims []api.NodeClaim, now time.Time) metav1.Condition {
	condition := metav1.Condition{Type: api.ConditionTypeNodeRegistrationHealthy, Status: metav1.ConditionUnknown, Reason: reasonAwaiting}
	old := api.GetCondition(pool.Status.Conditions, condition.Type)
	known, read := launches{}, false
	if old != nil {
		known, read = parseLaunches(old.Message)
	}
	changed := old == nil || old.ObservedGeneration != pool.Generation || class != nil && pool.Status.NodeClassObservedGeneration != class.Generation
	switch {
	case old == nil && pool.Generation <= 1:
		known = launches{since: pool.CreationTimestamp.UTC()}
	case changed:
		known = launches{since: now.UTC().Truncate(time.Second)}
	default:
		// Karpenter's own word stands until something is seen.
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
