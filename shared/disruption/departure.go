package disruption

import (
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
)

// Annotations of a NodeClaim about what AWS has announced for its instance. Nothing else of the
// events is kept.
const (
	// RebalanceRecommendedAnnotationKey is the time (RFC 3339) of EC2's message that the spot
	// instance is at a higher risk of interruption.
	RebalanceRecommendedAnnotationKey = api.RebalanceRecommendedAnnotationKey
	// DepartsAtAnnotationKey is the time (RFC 3339) at which AWS takes the instance: maintenance
	// begins, or its capacity block ends.
	DepartsAtAnnotationKey = api.DepartsAtAnnotationKey
	// DepartsBecauseAnnotationKey names the source: the ARN of a Health event, the id of an event
	// in the instance's status, or the id of a capacity reservation. Both annotations are removed
	// when the source withdraws.
	DepartsBecauseAnnotationKey = api.DepartsBecauseAnnotationKey
)

const (
	// gracefulWithin is the time before a departure in which the node may be replaced within
	// budgets. Health announces two weeks ahead. In one week every window of a daily or weekly
	// budget schedule opens.
	gracefulWithin = 7 * 24 * time.Hour
	// forcefulWithin is the time before a departure at which the node ends despite budgets. An
	// hour is enough for most drains under PodDisruptionBudgets.
	forcefulWithin = time.Hour
	// reservationWithin is the same for a capacity block, which is paid to its end: Karpenter's ten
	// minutes.
	reservationWithin = 10 * time.Minute
	// blockCleared is how long before a capacity block's end EC2 begins to terminate its instances.
	// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-blocks.html
	blockCleared = 30 * time.Minute

	reservationPrefix = "cr-"
	// statusPrefix begins the ids of the events that an instance's status lists.
	statusPrefix = "instance-event-"
)

// Departure is an announced time at which AWS takes a node's instance.
type Departure struct {
	At time.Time
	// Because names the source: see DepartsBecauseAnnotationKey.
	Because string
	// Told is when the source said so, or zero where that is not known. What it said before it withdrew
	// does not count.
	Told time.Time
}

// BlockDeparture is the departure of the instances of a capacity block that ends at the time.
func BlockDeparture(reservation string, end time.Time) Departure {
	return Departure{At: end.Add(-blockCleared), Because: reservation}
}

// DepartureOf reads the claim's annotations. A time that cannot be read counts as not written.
func DepartureOf(claim *api.NodeClaim) (departure Departure, announced bool) {
	at, err := time.Parse(time.RFC3339, claim.Annotations[DepartsAtAnnotationKey])
	return Departure{At: at, Because: claim.Annotations[DepartsBecauseAnnotationKey]}, err == nil
}

// Near tells whether the node ends now, despite budgets.
func (d Departure) Near(now time.Time) bool {
	if d.ofReservation() {
		return d.At.Sub(now) <= reservationWithin
	}
	return d.At.Sub(now) <= forcefulWithin
}

// replaceable tells whether the node may be replaced as budgets allow. A node in a capacity block
// stays to the block's end, which is paid for.
func (d Departure) replaceable(now time.Time) bool {
	return !d.ofReservation() && d.At.Sub(now) <= gracefulWithin
}

// OfInstanceStatus tells whether the instance's status announced the departure. EC2 withdraws such
// a departure by no longer listing it.
func (d Departure) OfInstanceStatus() bool { return strings.HasPrefix(d.Because, statusPrefix) }

func (d Departure) ofReservation() bool { return strings.HasPrefix(d.Because, reservationPrefix) }

// MarkDeparture is the patch that writes the departure on the claim. It is nil if the claim has the
// same departure, or an earlier one of another source. A new time of the same source always counts,
// even a later one.
func MarkDeparture(claim *api.NodeClaim, departure Departure) map[string]any {
	departure.At = departure.At.UTC().Truncate(time.Second)
	because, withdrawn := withdrawal(claim)
	if because == departure.Because && !departure.Told.IsZero() && !departure.Told.After(withdrawn) {
		return nil
	}
	known, announced := DepartureOf(claim)
	if same := known.Because == departure.Because; announced &&
		(same && known.At.Equal(departure.At) || !same && !known.At.After(departure.At)) {
		return nil
	}
	return annotate(map[string]any{
		DepartsAtAnnotationKey: departure.At.Format(time.RFC3339), DepartsBecauseAnnotationKey: departure.Because,
	})
}

// CancelDeparture is the patch that removes the departure of the source, which has withdrawn it at the
// time. The claim remembers the last withdrawal, because the announcement may arrive after it, or once
// more. The patch is nil if the claim knows a later word of the source.
func CancelDeparture(claim *api.NodeClaim, because string, told time.Time) map[string]any {
	annotations := map[string]any{}
	if by, at := withdrawal(claim); by != because || told.After(at) {
		annotations[api.DepartureWithdrawnAnnotationKey] = told.UTC().Format(time.RFC3339) + " " + because
	}
	if known, announced := DepartureOf(claim); announced && known.Because == because {
		annotations[DepartsAtAnnotationKey], annotations[DepartsBecauseAnnotationKey] = nil, nil
	}
	if len(annotations) == 0 {
		return nil
	}
	return annotate(annotations)
}

// withdrawal is the last one that the claim remembers: its source, and when it was told.
func withdrawal(claim *api.NodeClaim) (because string, told time.Time) {
	text, because, _ := strings.Cut(claim.Annotations[api.DepartureWithdrawnAnnotationKey], " ")
	told, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return "", time.Time{}
	}
	return because, told
}

// EndBy is the patch that ends the drain of the claim's node by the time, despite protected pods.
// It is nil if the drain ends by then in any case. A time that has passed bounds nothing: AWS names the
// earliest one, and the instance still runs. Pods then have an hour, and not a second.
func EndBy(claim *api.NodeClaim, at, now time.Time) map[string]any {
	if at.Before(now) {
		at = now.Add(forcefulWithin)
	}
	written, err := time.Parse(time.RFC3339, claim.Annotations[api.NodeClaimTerminationTimestampAnnotationKey])
	if err == nil && !written.After(at) {
		return nil
	}
	// Lifecycle writes the end of the claim's own grace period some time after the claim was deleted.
	grace, begins := claim.Spec.TerminationGracePeriod, now
	if claim.DeletionTimestamp != nil {
		begins = claim.DeletionTimestamp.Time
	}
	if err != nil && grace != nil && !begins.Add(grace.Duration).After(at) {
		return nil
	}
	return annotate(map[string]any{api.NodeClaimTerminationTimestampAnnotationKey: at.UTC().Format(time.RFC3339)})
}

// MarkRebalance is the patch that writes EC2's recommendation on the claim, or nil if one is
// written that still counts.
func MarkRebalance(claim *api.NodeClaim, at, now time.Time) map[string]any {
	if _, stands := recommendedAt(claim, now); stands {
		return nil
	}
	return annotate(map[string]any{RebalanceRecommendedAnnotationKey: at.UTC().Format(time.RFC3339)})
}

func annotate(annotations map[string]any) map[string]any {
	return map[string]any{"metadata": map[string]any{"annotations": annotations}}
}

// annotateVersion is annotate with a precondition: the patch conflicts if the claim has changed
// since it was read.
func annotateVersion(claim *api.NodeClaim, annotations map[string]any) map[string]any {
	return map[string]any{"metadata": map[string]any{
		"resourceVersion": claim.ResourceVersion, "annotations": annotations,
	}}
}
