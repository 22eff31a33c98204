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

// eventNamespace is where events about objects without a namespace are kept.
const eventNamespace = "default"

// Event is what a person reads under `kubectl describe`.
type Event struct {
	About   corev1.ObjectReference
	Type    string // corev1.EventTypeNormal or EventTypeWarning
	Reason  string
	Message string
}

// eventWindow is how long the same event about the same object is one event:
// Karpenter's five minutes for FailedScheduling.
const eventWindow = 5 * time.Minute

// Record writes the event. The name is a hash of what it says and of its window,
// so that functions without memory do not fill the cluster with copies: within a
// window the same event is written once.
func (c *Client) Record(ctx context.Context, event Event, now time.Time) error {
	namespace := event.About.Namespace
	if namespace == "" {
		namespace = eventNamespace
	}
	sum := fnv.New64a()
	fmt.Fprintf(sum, "%s\x00%s\x00%s\x00%s\x00%d", event.About.UID, event.Type, event.Reason, event.Message, now.Truncate(eventWindow).Unix())
	moment := metav1.NewTime(now)
	object := corev1.Event{
		TypeMeta:            metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
		ObjectMeta:          metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s.%016x", event.About.Name, sum.Sum64())},
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
