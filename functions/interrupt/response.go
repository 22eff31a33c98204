package main

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/events"
	"github.com/whittle-dev/whittle/shared/api"
)

// response is what an event means for one of our nodes.
type response struct {
	notice notice // what the node and its claim are told; none when its reason is empty
	// end takes the node out of use: no new pods, then drained and terminated.
	end bool
	// shortage tells that EC2 takes the offering back, so that no replacement is
	// looked for in it.
	shortage bool
	// look asks lifecycle to look: what it waits for may have happened.
	look bool
}

// notice is an event about a node and its claim, in Karpenter's words.
type notice struct {
	kind, reason, message string
}

func warning(reason, message string) notice {
	return notice{corev1.EventTypeWarning, reason, message}
}

// respond decides what an event means for the node of a claim that it is about.
func respond(detail events.Detail) response {
	switch detail := detail.(type) {
	case *events.SpotInterruption:
		return response{notice: warning("SpotInterrupted", "Spot interruption warning was triggered"), end: true, shortage: true}
	case *events.RebalanceRecommendation:
		// EC2 may not act on it for days: draining at each would keep spot nodes in motion.
		return response{notice: notice{corev1.EventTypeNormal, "SpotRebalanceRecommendation", "Spot rebalance recommendation was triggered"}}
	case *events.CapacityReservationInterruption:
		return response{notice: warning("CapacityReservationInstanceInterrupted", "Capacity reservation instance interruption warning was triggered"), end: true}
	case *events.CapacityBlockExpiration:
		return response{notice: warning("CapacityReservationInstanceInterrupted", "Capacity block expiration warning was triggered"), end: true}
	case *events.ScheduledChange:
		if detail.Over() {
			return response{}
		}
		return response{notice: warning("InstanceUnhealthy", "An unhealthy warning was triggered for the instance"), end: true}
	case *events.StateChange:
		switch detail.State {
		case events.StateStopping, events.StateStopped:
			return response{notice: warning("InstanceStopping", "Instance is stopping"), end: true}
		case events.StateShuttingDown, events.StateTerminated:
			return response{notice: warning("InstanceTerminating", "Instance is terminating"), end: true, look: true}
		case events.StateRunning:
			return response{look: true}
		}
	}
	return response{}
}

// about gives the claims that an event is about: by the instance, or, where the
// event names a capacity reservation, by the label that says who uses it.
func about(detail events.Detail, claims []api.NodeClaim) []*api.NodeClaim {
	instances := map[string]bool{}
	for _, id := range detail.Instances() {
		instances[id] = true
	}
	var reservation string
	if expiration, ok := detail.(*events.CapacityBlockExpiration); ok {
		reservation = expiration.ReservationID
	}
	var ours []*api.NodeClaim
	for i := range claims {
		if !claims[i].Spec.NodeClassRef.IsEC2NodeClass() {
			continue
		}
		id, launched := api.InstanceID(claims[i].Status.ProviderID)
		if launched && instances[id] || reservation != "" && claims[i].Labels[api.LabelCapacityReservationID] == reservation {
			ours = append(ours, &claims[i])
		}
	}
	return ours
}
