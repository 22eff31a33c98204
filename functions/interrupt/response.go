package main

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/events"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// response is what an event means for one of our nodes.
type response struct {
	notice notice // what the node and its claim are told; none when its reason is empty
	// end takes the node out of use: no new pods, then drained and terminated.
	end bool
	// by is when EC2 takes the instance, where the event says so: pods that are still
	// there shortly before are ended, so that they end in order.
	by time.Time
	// shortage tells that EC2 takes the offering back, so that no replacement is
	// looked for in it.
	shortage bool
	// look asks lifecycle to look: what it waits for may have happened.
	look bool
	// mark is the patch that has the claim remember the event, or nil.
	mark func(*api.NodeClaim) map[string]any
}

// notice is an event about a node and its claim, in Karpenter's words.
type notice struct {
	kind, reason, message string
}

func warning(reason, message string) notice {
	return notice{corev1.EventTypeWarning, reason, message}
}

// respond decides what an event means for the node of a claim that it is about.
func respond(event events.Event, now time.Time) response {
	switch detail := event.Detail.(type) {
	case *events.SpotInterruption:
		return response{notice: warning("SpotInterrupted", "Spot interruption warning was triggered"), end: true, shortage: true}
	case *events.RebalanceRecommendation:
		// EC2 may not act on it for days: disrupt decides, and has the replacement first.
		return response{
			notice: notice{corev1.EventTypeNormal, "SpotRebalanceRecommendation", "Spot rebalance recommendation was triggered"},
			mark:   func(claim *api.NodeClaim) map[string]any { return disruption.MarkRebalance(claim, event.Time, now) },
		}
	case *events.CapacityReservationInterruption:
		return response{notice: reservationEnds("Capacity reservation instance interruption warning was triggered"), end: true, by: detail.TerminationTime, shortage: true}
	case *events.CapacityBlockExpiration:
		told := reservationEnds("Capacity block expiration warning was triggered")
		if detail.EndDate.IsZero() {
			return response{notice: told, end: true}
		}
		return depart(disruption.BlockDeparture(detail.ReservationID, detail.EndDate), told, now)
	case *events.ScheduledChange:
		return respondToChange(detail, now)
	case *events.StateChange:
		switch detail.State {
		case events.StateStopping, events.StateStopped:
			return response{notice: warning("InstanceStopping", "Instance is stopping"), end: true, look: true}
		case events.StateShuttingDown, events.StateTerminated:
			return response{notice: warning("InstanceTerminating", "Instance is terminating"), end: true, look: true}
		}
	}
	return response{}
}

func reservationEnds(message string) notice {
	return warning("CapacityReservationInstanceInterrupted", message)
}

// respondToChange: a change that is over is forgotten, one without a start may begin at
// any moment.
func respondToChange(change *events.ScheduledChange, now time.Time) response {
	because := change.EventARN
	if because == "" {
		because = change.Code
	}
	if change.Over() {
		return response{mark: func(claim *api.NodeClaim) map[string]any { return disruption.CancelDeparture(claim, because) }}
	}
	told := warning("InstanceUnhealthy", "An unhealthy warning was triggered for the instance")
	if change.StartTime.IsZero() {
		return response{notice: told, end: true}
	}
	told.message += ": " + change.Code + " at " + change.StartTime.UTC().Format(time.RFC3339)
	return depart(disruption.Departure{At: change.StartTime, Because: because}, told, now)
}

// depart ends a node whose departure is near, and has the claim remember a later one.
func depart(departure disruption.Departure, told notice, now time.Time) response {
	if departure.Near(now) {
		return response{notice: told, end: true, by: departure.At}
	}
	return response{notice: told, mark: func(claim *api.NodeClaim) map[string]any { return disruption.MarkDeparture(claim, departure) }}
}

// about gives the claims that an event is about: by the instance, or, where the
// event names a capacity reservation, by the label that says who uses it.
func about(detail events.Detail, claims *ownClaims) []*api.NodeClaim {
	var found []*api.NodeClaim
	for _, id := range detail.Instances() {
		found = append(found, claims.byInstance[id]...)
	}
	if expiration, ok := detail.(*events.CapacityBlockExpiration); ok {
		found = append(found, claims.byReservation[expiration.ReservationID]...)
	}
	return found
}

// ownClaims are the claims that Whittle acts on.
type ownClaims struct {
	byInstance, byReservation map[string][]*api.NodeClaim
}

// ownAmong picks them out and files them by what events name them by.
func ownAmong(claims []api.NodeClaim) *ownClaims {
	found := &ownClaims{map[string][]*api.NodeClaim{}, map[string][]*api.NodeClaim{}}
	for i := range claims {
		claim := &claims[i]
		if !claim.Spec.NodeClassRef.IsEC2NodeClass() {
			continue
		}
		if id, launched := api.InstanceID(claim.Status.ProviderID); launched {
			found.byInstance[id] = append(found.byInstance[id], claim)
		}
		if reservation := claim.Labels[api.LabelCapacityReservationID]; reservation != "" {
			found.byReservation[reservation] = append(found.byReservation[reservation], claim)
		}
	}
	return found
}
