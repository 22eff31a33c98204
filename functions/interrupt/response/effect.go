package response

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/events"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// Effect is what one event means for a claim that it is about. The zero value means nothing.
type Effect struct {
	// Notice is written about the claim and its node. There is none when its reason is empty.
	Notice Notice
	// End takes the node out of use: it gets no new pods, and is drained and terminated.
	End bool
	// By is when EC2 takes the instance, or zero when the event does not say so. Lifecycle ends
	// pods that still run shortly before, so that they end in order.
	By time.Time
	// Shortage means that EC2 takes the offering back. No replacement is looked for in it.
	Shortage bool
	// Look asks lifecycle to look at the claim: the change that it waits for may have happened.
	Look bool
	// Mark computes the patch with which the claim remembers the event. Mark may be nil, and it
	// returns nil for a claim that remembers the event already.
	Mark func(*api.NodeClaim) map[string]any
}

// Notice is an event about a claim and its node. Reasons and messages are Karpenter's.
type Notice struct {
	Type, Reason, Message string
}

func warning(reason, message string) Notice {
	return Notice{corev1.EventTypeWarning, reason, message}
}

// EffectOf decides what an event means for a claim that it is about.
func EffectOf(event events.Event, now time.Time) Effect {
	switch detail := event.Detail.(type) {
	case *events.SpotInterruption:
		notice := warning(api.EventReasonSpotInterrupted, "Spot interruption warning was triggered")
		return Effect{Notice: notice, End: true, Shortage: true}
	case *events.RebalanceRecommendation:
		// EC2 may not act on it for days. Disrupt decides, and launches the replacement first.
		return Effect{
			Notice: Notice{corev1.EventTypeNormal, "SpotRebalanceRecommendation", "Spot rebalance recommendation was triggered"},
			Mark:   func(claim *api.NodeClaim) map[string]any { return disruption.MarkRebalance(claim, event.Time, now) },
		}
	case *events.CapacityReservationInterruption:
		notice := reservationEnds("Capacity reservation instance interruption warning was triggered")
		return Effect{Notice: notice, End: true, By: detail.TerminationTime, Shortage: true}
	case *events.CapacityBlockExpiration:
		notice := reservationEnds("Capacity block expiration warning was triggered")
		if detail.EndDate.IsZero() {
			return Effect{Notice: notice, End: true}
		}
		return departure(disruption.BlockDeparture(detail.ReservationID, detail.EndDate), notice, now)
	case *events.ScheduledChange:
		return scheduledChange(detail, event.Time, now)
	case *events.StateChange:
		return stateChange(detail)
	}
	return Effect{}
}

func reservationEnds(message string) Notice {
	return warning("CapacityReservationInstanceInterrupted", message)
}

func stateChange(change *events.StateChange) Effect {
	switch change.State {
	case events.StateStopping, events.StateStopped:
		return Effect{Notice: warning("InstanceStopping", "Instance is stopping"), End: true, Look: true}
	case events.StateShuttingDown, events.StateTerminated:
		return Effect{Notice: warning("InstanceTerminating", "Instance is terminating"), End: true, Look: true}
	}
	return Effect{}
}

// scheduledChange cancels the departure of a change that is over. A change without a start may
// begin at any moment, and ends the node at once.
func scheduledChange(change *events.ScheduledChange, told, now time.Time) Effect {
	cause := change.EventARN
	if cause == "" {
		cause = change.Code
	}
	if change.Over() {
		return Effect{
			Mark: func(claim *api.NodeClaim) map[string]any { return disruption.CancelDeparture(claim, cause, told) },
		}
	}
	notice := warning("InstanceUnhealthy", "An unhealthy warning was triggered for the instance")
	if change.StartTime.IsZero() {
		return Effect{Notice: notice, End: true}
	}
	notice.Message += ": " + change.Code + " at " + change.StartTime.UTC().Format(time.RFC3339)
	return departure(disruption.Departure{At: change.StartTime, Because: cause, Told: told}, notice, now)
}

// departure ends a node whose departure is near. The claim remembers a later departure.
func departure(announced disruption.Departure, notice Notice, now time.Time) Effect {
	if announced.Near(now) {
		return Effect{Notice: notice, End: true, By: announced.At}
	}
	return Effect{
		Notice: notice,
		Mark:   func(claim *api.NodeClaim) map[string]any { return disruption.MarkDeparture(claim, announced) },
	}
}
