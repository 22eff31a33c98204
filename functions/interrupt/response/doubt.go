package response

import (
	"time"

	"github.com/whittle-dev/whittle/events"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// MaximumNamed is how many claims an event may be about without EC2's word for it. A message that
// nobody should have been able to send then costs a few nodes, and not all of them.
const MaximumNamed = 10

// Evidence is what EC2 says about the instances and reservations of doubtful events.
type Evidence struct {
	// Announced are the instances for which EC2 has announced work.
	Announced map[string]bool
	// Ends are the ends of capacity reservations, by id.
	Ends map[string]time.Time
}

// Doubt is an event that names more than MaximumNamed claims.
type Doubt struct {
	Event  int // its index among the events
	Detail events.Detail
	Claims []*api.NodeClaim
}

// Doubts returns the events that have an effect only where EC2 confirms it. An event by which a
// change is over ends nothing, so that nobody doubts it.
func Doubts(batch []events.Event, claims []api.NodeClaim) []Doubt {
	own := index(claims)
	var doubts []Doubt
	for i, event := range batch {
		if over(event.Detail) {
			continue
		}
		if named := own.about(event.Detail); len(named) > MaximumNamed {
			doubts = append(doubts, Doubt{i, event.Detail, named})
		}
	}
	return doubts
}

// Unconfirmed counts the claims for which EC2 does not confirm the event.
func (d Doubt) Unconfirmed(evidence Evidence, now time.Time) int {
	count := 0
	for _, claim := range d.Claims {
		if !evidence.confirms(d.Detail, claim, now) {
			count++
		}
	}
	return count
}

func over(detail events.Detail) bool {
	change, ok := detail.(*events.ScheduledChange)
	return ok && change.Over()
}

// confirms returns whether EC2 says the same about the claim as the event. A capacity block may not
// end later than the event says, or than soon where it says nothing, as far as EC2 knows.
func (e Evidence) confirms(detail events.Detail, claim *api.NodeClaim, now time.Time) bool {
	switch detail := detail.(type) {
	case *events.ScheduledChange:
		id, launched := api.InstanceID(claim.Status.ProviderID)
		return detail.Over() || launched && e.Announced[id]
	case *events.CapacityBlockExpiration:
		end := e.Ends[detail.ReservationID]
		if detail.EndDate.IsZero() {
			return !end.IsZero() && disruption.BlockDeparture(detail.ReservationID, end).Near(now)
		}
		return !end.IsZero() && !end.Truncate(time.Minute).After(detail.EndDate)
	}
	return false
}
