package cluster

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// reasonArrived is the reason of the events by which interrupt answers a test event.
const reasonArrived = "TestEventArrived"

// EventArrived is the event that says that a test event of an installation came by a queue.
func EventArrived(id, queue string) Event {
	return Event{
		About:  corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Name: Namespace},
		Type:   corev1.EventTypeNormal,
		Reason: reasonArrived, Message: "Test event " + id + " arrived by the queue " + queue,
	}
}

// Arrived returns the queues by which test events came whose ids begin with the prefix.
func (c *Client) Arrived(ctx context.Context, prefix string) (map[string]bool, error) {
	written, err := c.Events(ctx, "Namespace", reasonArrived)
	if err != nil {
		return nil, err
	}
	queues := map[string]bool{}
	for i := range written {
		id, queue, ok := strings.Cut(strings.TrimPrefix(written[i].Message, "Test event "), " arrived by the queue ")
		if ok && strings.HasPrefix(id, prefix) {
			queues[queue] = true
		}
	}
	return queues, nil
}
