package cluster

import (
	"context"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// eventNamespace is the namespace of events about objects without one.
const eventNamespace = "default"

// Event is a message about an object that `kubectl describe` shows.
type Event struct {
	About   corev1.ObjectReference
	Type    string // corev1.EventTypeNormal or EventTypeWarning
	Reason  string
	Message string
}

// EventTime is when the event last happened. The scheduler counts repetitions in a series, older
// components in the last timestamp.
func EventTime(event *corev1.Event) time.Time {
	latest := event.CreationTimestamp.Time
	for _, moment := range []time.Time{event.EventTime.Time, event.LastTimestamp.Time} {
		if moment.After(latest) {
			latest = moment
		}
	}
	if event.Series != nil && event.Series.LastObservedTime.After(latest) {
		latest = event.Series.LastObservedTime.Time
	}
	return latest
}

// eventWindow is the time in which the same event about the same object is written once:
// Karpenter's five minutes for FailedScheduling.
const eventWindow = 5 * time.Minute

// Record writes the event, once in each window. Its name is a hash of its content and its window,
// so that functions without memory write no copies. Record succeeds for an event that exists
// already.
func (c *Client) Record(ctx context.Context, event Event, now time.Time) error {
	namespace := event.About.Namespace
	if namespace == "" {
		namespace = eventNamespace
	}
	sum := fnv.New64a()
	window := now.Truncate(eventWindow).Unix()
	fmt.Fprintf(sum, "%s\x00%s\x00%s\x00%s\x00%d", event.About.UID, event.Type, event.Reason, event.Message, window)
	name := fmt.Sprintf("%s.%016x", event.About.Name, sum.Sum64())
	moment := metav1.NewTime(now)
	object := corev1.Event{
		TypeMeta:            metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
		ObjectMeta:          metav1.ObjectMeta{Namespace: namespace, Name: name},
		InvolvedObject:      event.About,
		Type:                event.Type,
		Reason:              event.Reason,
		Message:             event.Message,
		Source:              corev1.EventSource{Component: FieldManager},
		ReportingController: FieldManager,
		FirstTimestamp:      moment,
		LastTimestamp:       moment,
		Count:               1,
	}
	err := c.writeJSON(ctx, http.MethodPost, "/api/v1/namespaces/"+url.PathEscape(namespace)+"/events", &object, nil)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
