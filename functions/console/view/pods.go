package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/functions/console/printable"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/pending"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// currentFor is how long Whittle's event about a pod counts. Whittle repeats it after five minutes,
// so older ones are outdated.
const currentFor = 10 * time.Minute

// daemonsStart is the age from which a pod of a DaemonSet without a node is one that waits.
const daemonsStart = 2 * time.Minute

// waiting returns the pending pods, the one that waits longest first.
func waiting(objects *Cluster, now time.Time) []Pod {
	events := map[types.UID][]*corev1.Event{}
	for i := range objects.Events {
		event := &objects.Events[i]
		events[event.InvolvedObject.UID] = append(events[event.InvolvedObject.UID], event)
	}
	pods := []Pod{}
	waits := pending.New(objects.NodePools, now)
	for i := range objects.Pods {
		pod := &objects.Pods[i]
		if pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil || scheduling.IsTerminal(pod) {
			continue
		}
		// A new node's daemon pods wait for the scheduler alone, and no plan concerns them.
		if scheduling.IsOwnedByDaemonSet(pod) && now.Sub(pod.CreationTimestamp.Time) < daemonsStart {
			continue
		}
		shown := Pod{Namespace: pod.Namespace, Name: pod.Name, Created: pod.CreationTimestamp.UTC()}
		waited, asleep := waits.Of(pod)
		if shown.Asleep = asleep; !asleep && waited < now.Sub(shown.Created) {
			shown.Owed = now.Add(-waited).UTC()
		}
		shown.Source, shown.Message = message(pod, events[pod.UID], now)
		if known, ok := objects.Misfits[string(pod.UID)]; ok && now.Before(known.Until) {
			shown.Source, shown.Message, shown.HeldUntil = cluster.FieldManager, printable.Line(known.String()), known.Until
		}
		pods = append(pods, shown)
	}
	slices.SortFunc(pods, func(a, b Pod) int {
		return cmp.Or(
			a.Created.Compare(b.Created), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name),
		)
	})
	return pods
}

// message returns the newest event about the pod. Whittle's come before the scheduler's: they name
// the pool and what to change, or the claim whose node the pod waits for.
func message(pod *corev1.Pod, events []*corev1.Event, now time.Time) (source, text string) {
	var newest *corev1.Event
	ours := false
	for _, event := range events {
		own := sourceOf(event) == cluster.FieldManager
		if own && now.Sub(cluster.EventTime(event)) > currentFor {
			continue
		}
		if newest == nil || own && !ours || own == ours && cluster.EventTime(event).After(cluster.EventTime(newest)) {
			newest, ours = event, own
		}
	}
	if newest != nil {
		return printable.Line(sourceOf(newest)), printable.Line(newest.Message)
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Message != "" {
			return pod.Spec.SchedulerName, printable.Line(condition.Message)
		}
	}
	return "", ""
}

func sourceOf(event *corev1.Event) string {
	return cmp.Or(event.ReportingController, event.Source.Component)
}
