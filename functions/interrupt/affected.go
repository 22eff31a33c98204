package main

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// affectedClaim is a claim of ours with all that a batch says of it.
type affectedClaim struct {
	claim     *api.NodeClaim
	node      *corev1.Node // nil unless it was read, to be marked
	messages  []*message
	responses []response // one a message
}

// affected are those of the claims that are ours and that a message is about.
func affected(messages []*message, claims []api.NodeClaim, now time.Time) []*affectedClaim {
	ours := ownAmong(claims)
	var all []*affectedClaim
	byName := map[string]*affectedClaim{}
	for _, message := range messages {
		if !message.acted() {
			continue
		}
		for _, claim := range about(message.event.Detail, ours) {
			one := byName[claim.Name]
			if one == nil {
				one = &affectedClaim{claim: claim}
				byName[claim.Name] = one
				all = append(all, one)
			}
			one.add(message, respond(message.event, now))
		}
	}
	return all
}

// add makes of a response what is still to be done. For a claim whose end has been
// ordered that is to look how far it is: a warning is given more than once, our own
// terminations are told of as well, and the run that ordered the end may have died
// before it woke anyone.
func (a *affectedClaim) add(message *message, response response) {
	if a.claim.DeletionTimestamp != nil && response.end {
		response.end, response.notice, response.look = false, notice{}, true
	}
	a.messages = append(a.messages, message)
	a.responses = append(a.responses, response)
}

// ends tells whether any response takes the node out of use.
func (a *affectedClaim) ends() bool {
	for i := range a.responses {
		if a.responses[i].end {
			return true
		}
	}
	return false
}

// isShort tells whether EC2 takes the claim's offering back.
func (a *affectedClaim) isShort() bool {
	for i := range a.responses {
		if a.responses[i].shortage {
			return true
		}
	}
	return false
}

// by is the first moment at which EC2 takes the instance, or zero.
func (a *affectedClaim) by() time.Time {
	var first time.Time
	for i := range a.responses {
		if by := a.responses[i].by; !by.IsZero() && (first.IsZero() || by.Before(first)) {
			first = by
		}
	}
	return first
}

// words are the events about the claim and its node: each notice once, and at the end
// that it is the end.
func (a *affectedClaim) words(ended bool) []cluster.Event {
	objects := []corev1.ObjectReference{disruption.AboutClaim(a.claim)}
	if a.node != nil {
		objects = append(objects, disruption.AboutNode(a.node))
	}
	var words []cluster.Event
	said := map[string]bool{}
	for i := range a.responses {
		told := a.responses[i].notice
		if told.reason == "" || said[told.message] {
			continue
		}
		said[told.message] = true
		for _, about := range objects {
			words = append(words, cluster.Event{About: about, Type: told.kind, Reason: told.reason, Message: told.message})
		}
	}
	if !ended {
		return words
	}
	for _, about := range objects {
		words = append(words, cluster.Event{
			About: about, Type: corev1.EventTypeWarning, Reason: "TerminatingOnInterruption",
			Message: "Interruption triggered termination for the " + about.Kind,
		})
	}
	return words
}
