package disruption

import (
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
)

// Annotations of a NodeClaim about what AWS has announced for its instance. They are
// all that is remembered of an event.
const (
	// RebalanceRecommendedAnnotationKey is the time (RFC 3339) of EC2's word that the
	// spot instance is more likely than others to be taken back.
	RebalanceRecommendedAnnotationKey = api.OwnGroup + "/rebalance-recommended"
	// DepartsAtAnnotationKey is the time (RFC 3339) at which AWS takes the instance:
	// maintenance begins, or its capacity block is cleared.
	DepartsAtAnnotationKey = api.OwnGroup + "/departs-at"
	// DepartsBecauseAnnotationKey names what has announced it: the ARN of a Health event, the
	// id of an event in the instance's status, or that of a capacity reservation. Its end takes
	// both away.
	DepartsBecauseAnnotationKey = api.OwnGroup + "/departs-because"
)

const (
	// gracefulWithin is how long before a departure its node may be replaced, with the
	// replacement first and under budgets. Health speaks two weeks ahead; in one week
	// every window of a budget's schedule opens, daily and weekly ones.
	gracefulWithin = 7 * 24 * time.Hour
	// forcefulWithin is how long before a departure its node is ended whatever budgets
	// say. An hour is enough for most drains under disruption budgets.
	forcefulWithin = time.Hour
	// reservationWithin is the same for the nodes of a capacity block, which is paid for
	// to its end: Karpenter's ten minutes.
	reservationWithin = 10 * time.Minute
	// blockCleared is how long before a capacity block's end EC2 begins to terminate its
	// instances. https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-blocks.html
	blockCleared = 30 * time.Minute

	reservationPrefix = "cr-"
	// statusPrefix begins the ids of the work that the status of an instance lists.
	statusPrefix = "instance-event-"
)

// Departure is a moment known ahead at which AWS takes a node's instance.
type Departure struct {
	At      time.Time
	Because string
}

// BlockDeparture is when the instances of a capacity block go that ends at the time.
func BlockDeparture(reservation string, end time.Time) Departure {
	return Departure{At: end.Add(-blockCleared), Because: reservation}
}

// DepartureOf reads what the claim says; what cannot be read counts as not written.
func DepartureOf(claim *api.NodeClaim) (departure Departure, announced bool) {
	at, err := time.Parse(time.RFC3339, claim.Annotations[DepartsAtAnnotationKey])
	return Departure{At: at, Because: claim.Annotations[DepartsBecauseAnnotationKey]}, err == nil
}

// Near tells whether the node is to be ended now, whatever budgets say.
func (d Departure) Near(now time.Time) bool {
	if d.ofReservation() {
		return d.At.Sub(now) <= reservationWithin
	}
	return d.At.Sub(now) <= forcefulWithin
}

// replaceable tells whether the time has come to replace the node as budgets allow. What
// runs in a capacity block was bought there, and stays to its end.
func (d Departure) replaceable(now time.Time) bool {
	return !d.ofReservation() && d.At.Sub(now) <= gracefulWithin
}

// OfInstanceStatus tells that the status of the instance has announced it, and takes it
// back by listing it no more.
func (d Departure) OfInstanceStatus() bool { return strings.HasPrefix(d.Because, statusPrefix) }

func (d Departure) ofReservation() bool { return strings.HasPrefix(d.Because, reservationPrefix) }

// MarkDeparture is the patch that writes the departure on the claim; nil where the claim
// knows of it, or of another that comes before it. A later word about the same cause
// counts, also when it puts the departure off.
func MarkDeparture(claim *api.NodeClaim, departure Departure) map[string]any {
	departure.At = departure.At.UTC().Truncate(time.Second)
	if known, announced := DepartureOf(claim); announced && (known == departure || known.Because != departure.Because && !known.At.After(departure.At)) {
		return nil
	}
	return annotate(map[string]any{DepartsAtAnnotationKey: departure.At.Format(time.RFC3339), DepartsBecauseAnnotationKey: departure.Because})
}

// CancelDeparture is the patch that takes the departure of that cause back; nil where the
// claim does not know of it.
func CancelDeparture(claim *api.NodeClaim, because string) map[string]any {
	if known, announced := DepartureOf(claim); !announced || known.Because != because {
		return nil
	}
	return annotate(map[string]any{DepartsAtAnnotationKey: nil, DepartsBecauseAnnotationKey: nil})
}

// EndBy is the patch that has the claim's node drained, past whatever protects its pods,
// by the time at which its instance is taken; nil where it will be by then.
func EndBy(claim *api.NodeClaim, at, now time.Time) map[string]any {
	written, err := time.Parse(time.RFC3339, claim.Annotations[api.NodeClaimTerminationTimestampAnnotationKey])
	if err == nil && !written.After(at) {
		return nil
	}
	// What the claim's own grace period comes to is written when its deletion begins.
	if grace := claim.Spec.TerminationGracePeriod; err != nil && claim.DeletionTimestamp == nil && grace != nil && !now.Add(grace.Duration).After(at) {
		return nil
	}
	return annotate(map[string]any{api.NodeClaimTerminationTimestampAnnotationKey: at.UTC().Format(time.RFC3339)})
}

// MarkRebalance is the patch that writes EC2's recommendation on the claim; nil where
// one that still counts is written.
func MarkRebalance(claim *api.NodeClaim, at, now time.Time) map[string]any {
	if _, standing := recommendedAt(claim, now); standing {
		return nil
	}
	return annotate(map[string]any{RebalanceRecommendedAnnotationKey: at.UTC().Format(time.RFC3339)})
}

func annotate(annotations map[string]any) map[string]any {
	return map[string]any{"metadata": map[string]any{"annotations": annotations}}
}
