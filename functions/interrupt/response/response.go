package response

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/events"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// Response is what a batch of events means for one claim.
type Response struct {
	Claim *api.NodeClaim
	// Causes are the events about the claim, in their order.
	Causes []Cause
	// Steps are to be carried out in their order.
	Steps []Step
	// Notices are written about the claim and its node when the steps are done.
	Notices []Notice
	// Ends means that the steps take the node out of use, so that pods lose their place.
	Ends bool
}

// Cause is an event that a Response answers.
type Cause struct {
	Event    int  // its index among the events that Decide was given
	Look     bool // lifecycle looks at the claim when the steps are done
	Shortage bool // EC2 takes the claim's offering back
}

// Decide returns a response for each claim of Whittle's that an event is about, in the order in
// which the events name them. It ignores events about foreign instances, and claims of other
// node classes. An event that names many claims has an effect on those for which the evidence
// confirms it.
func Decide(batch []events.Event, claims []api.NodeClaim, evidence Evidence, now time.Time) []*Response {
	own := index(claims)
	doubtful := map[int]bool{}
	for _, doubt := range Doubts(batch, claims) {
		doubtful[doubt.Event] = true
	}
	effects := map[string][]effect{} // by the claim's name
	var order []*api.NodeClaim
	for i, event := range batch {
		for _, part := range partsOf(event) {
			for _, claim := range own.about(part.Detail) {
				if doubtful[i] && !evidence.confirms(part.Detail, claim, now) {
					continue
				}
				if effects[claim.Name] == nil {
					order = append(order, claim)
				}
				effects[claim.Name] = append(
					effects[claim.Name], effect{i, part.Detail.DetailType(), forClaim(EffectOf(part, now), claim)})
			}
		}
	}
	responses := make([]*Response, len(order))
	for i, claim := range order {
		responses[i] = respond(claim, effects[claim.Name], now)
	}
	return responses
}

// partsOf splits an event that means different things for its instances.
func partsOf(event events.Event) []events.Event {
	parts := []events.Event{event}
	if change, ok := event.Detail.(*events.ScheduledChange); ok {
		if over := change.Resolved(); over != nil {
			resolved := event
			resolved.Detail = over
			parts = append(parts, resolved)
		}
	}
	return parts
}

// effect is that of one event of the batch on a claim.
type effect struct {
	event      int
	detailType string
	Effect
}

// forClaim replaces the end of a claim that is being deleted by a look at how far its end is. Such
// events arrive often: EC2 warns more than once, and it reports our own terminations as well. The
// invocation that deleted the claim may have died before it woke lifecycle.
func forClaim(effect Effect, claim *api.NodeClaim) Effect {
	if claim.DeletionTimestamp != nil && effect.End {
		effect.End, effect.Notice, effect.Look = false, Notice{}, true
	}
	return effect
}

func respond(claim *api.NodeClaim, effects []effect, now time.Time) *Response {
	response := &Response{Claim: claim}
	var by time.Time
	noticed := map[string]bool{} // by message
	for _, e := range effects {
		response.Causes = append(response.Causes, Cause{e.event, e.Look, e.Shortage})
		if e.Mark != nil && claim.DeletionTimestamp == nil {
			response.Steps = append(response.Steps, PatchClaim{e.Mark, fmt.Sprintf("writing down the event %q", e.detailType)})
		}
		if !e.By.IsZero() && (by.IsZero() || e.By.Before(by)) {
			by = e.By
		}
		response.Ends = response.Ends || e.End
		if e.Notice.Reason != "" && !noticed[e.Notice.Message] {
			noticed[e.Notice.Message] = true
			response.Notices = append(response.Notices, e.Notice)
		}
	}
	if !by.IsZero() {
		patch := func(stored *api.NodeClaim) map[string]any { return disruption.EndBy(stored, by, now) }
		response.Steps = append(response.Steps, PatchClaim{patch, fmt.Sprintf("writing down the end at %s", by)})
	}
	if response.Ends {
		response.Steps = append(response.Steps, End{effects[0].detailType, effects[0].Notice.Reason})
	}
	return response
}

// Records are the events to write when the steps are done. The node is nil when it is not known.
func (r *Response) Records(node *corev1.Node) []Record {
	objects := []corev1.ObjectReference{disruption.AboutClaim(r.Claim)}
	if node != nil {
		objects = append(objects, disruption.AboutNode(node))
	}
	var records []Record
	for _, notice := range r.Notices {
		for _, about := range objects {
			records = append(records, Record{about, notice.Type, notice.Reason, notice.Message})
		}
	}
	if !r.Ends {
		return records
	}
	for _, about := range objects {
		message := "Interruption triggered termination for the " + about.Kind
		records = append(records, Record{about, corev1.EventTypeWarning, "TerminatingOnInterruption", message})
	}
	return records
}

// hasShortage returns whether EC2 takes the claim's offering back.
func (r *Response) hasShortage() bool {
	for _, cause := range r.Causes {
		if cause.Shortage {
			return true
		}
	}
	return false
}
