package cluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"
)

// Events lists the events of a reason about objects of a kind, such as Pod, of all namespaces and
// all components, in no particular order. The API server keeps events for an hour.
func (c *Client) Events(ctx context.Context, kind, reason string) ([]corev1.Event, error) {
	var list corev1.EventList
	err := c.list(ctx, "/api/v1/events", &list, "fieldSelector", "involvedObject.kind="+kind+",reason="+reason)
	return list.Items, err
}

// EventsOf lists the events that a component wrote about objects, in no particular order.
func (c *Client) EventsOf(ctx context.Context, component string) ([]corev1.Event, error) {
	var list corev1.EventList
	err := c.list(ctx, "/api/v1/events", &list, "fieldSelector", "reportingComponent="+component)
	return list.Items, err
}
