package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/plan"
)

// maximumEvents bounds how many pods one pass writes events on, of those that have
// a place and of those that have none: a thousand pods that wait for the same
// reason are told by the first of them.
const maximumEvents = 50

// maximumMessage is how long an event's message may be.
const maximumMessage = 1024

// explain tells the owners of pods that go nowhere why, and what to change.
func (r *run) explain(ctx context.Context, decided *plan.Plan) {
	for i, unplaced := range decided.Unplaced {
		if i == maximumEvents {
			slog.WarnContext(ctx, "more pods are left out than events are written", "pods", len(decided.Unplaced)-maximumEvents)
			break
		}
		message := because(unplaced.Reasons)
		slog.WarnContext(ctx, "could not schedule pod", "Pod", unplaced.Pod.String(), "error", message)
		r.record(podReference(unplaced.Pod), corev1.EventTypeWarning, "FailedScheduling", message)
	}
}

// nominate says on the pods where they will run.
func (r *run) nominate(pods []plan.PodRef, where string) {
	for _, pod := range pods {
		if r.told == maximumEvents {
			return
		}
		r.told++
		r.record(podReference(pod), corev1.EventTypeNormal, "Nominated", "Pod should schedule on: "+where)
	}
}

// record keeps an event, unless the same was written of late, until everything is done:
// each is a call, and a pass that launches many nodes has many.
func (r *run) record(about corev1.ObjectReference, kind, reason, message string) {
	if !r.events.first(fmt.Sprintf("%s/%s/%s", about.UID, reason, message), r.now()) {
		return
	}
	r.pending.Add(cluster.Event{About: about, Type: kind, Reason: reason, Message: message})
}

// because joins the reasons, one for each pool, into an event's message, which
// the API server takes up to 1,024 bytes of.
func because(reasons []plan.Reason) string {
	var parts []string
	for _, reason := range reasons {
		parts = append(parts, reason.String())
	}
	return limited(strings.Join(parts, "; "))
}

// limited cuts a message to what an event takes.
func limited(message string) string {
	if len(message) > maximumMessage {
		message = message[:maximumMessage-3] + "..."
	}
	return message
}

func podReference(pod plan.PodRef) corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: types.UID(pod.UID)}
}
