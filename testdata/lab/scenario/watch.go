package scenario

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/nodestate"
)

// watcher follows pods and NodeClaims and puts their changes on the timeline.
type watcher struct {
	client   *Client
	timeline *Timeline
	price    func(claim *api.NodeClaim) float64

	mutex  sync.Mutex
	pods   map[string]*podTimes
	claims map[string]map[string]bool // reported changes, by claim
}

// podTimes holds the times of one pod.
type podTimes struct {
	pending, running time.Time
}

// watchCluster follows the cluster until the context ends. price returns a claim's price in dollars
// an hour.
func watchCluster(ctx context.Context, client *Client, timeline *Timeline,
	price func(*api.NodeClaim) float64) (*watcher, error) {
	w := &watcher{
		client: client, timeline: timeline, price: price, pods: map[string]*podTimes{}, claims: map[string]map[string]bool{},
	}
	pods, err := client.Core.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	claims, err := client.Objects.Resource(nodeClaims()).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		pods.Stop()
		return nil, err
	}
	go follow(pods, func(kind watch.EventType, object runtime.Object) {
		if pod, ok := object.(*corev1.Pod); ok {
			w.pod(kind, pod)
		}
	})
	go follow(claims, func(kind watch.EventType, object runtime.Object) {
		if object, ok := object.(*unstructured.Unstructured); ok {
			if claim, err := decoded[api.NodeClaim](object); err == nil {
				w.claim(kind, &claim)
			}
		}
	})
	return w, nil
}

func follow(events watch.Interface, handle func(watch.EventType, runtime.Object)) {
	for event := range events.ResultChan() {
		handle(event.Type, event.Object)
	}
}

// pod counts pods on the timeline by tens. The first wait and the last start matter, single pods do
// not.
func (w *watcher) pod(kind watch.EventType, pod *corev1.Pod) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	key := string(pod.UID)
	times := w.pods[key]
	if times == nil {
		times = &podTimes{}
		w.pods[key] = times
	}
	if kind == watch.Deleted {
		return
	}
	if times.pending.IsZero() && unschedulable(pod) {
		times.pending = time.Now()
	}
	if times.running.IsZero() && pod.Status.Phase == corev1.PodRunning && ready(pod) {
		times.running = time.Now()
	}
}

func unschedulable(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse &&
			condition.Reason == corev1.PodReasonUnschedulable {
			return true
		}
	}
	return false
}

func (w *watcher) claim(kind watch.EventType, claim *api.NodeClaim) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	reported := w.claims[claim.Name]
	if reported == nil {
		reported = map[string]bool{}
		w.claims[claim.Name] = reported
	}
	once := func(step nodestate.Step, format string, arguments ...any) {
		if what := string(step); !reported[what] {
			reported[what] = true
			w.timeline.Add(what, format, arguments...)
		}
	}
	if kind == watch.Deleted {
		once(nodestate.StepTerminated, "%s", claim.Name)
		return
	}
	if kind == watch.Added {
		once(nodestate.StepPlanned, "%s for requests %s", claim.Name, requests(claim))
	}
	labels := claim.Labels
	if api.ConditionTrue(claim.Status.Conditions, api.ConditionTypeLaunched) {
		once(nodestate.StepLaunched, "%s as %s, %s in %s, $%.4f/h", claim.Name, labels[corev1.LabelInstanceTypeStable],
			labels[api.CapacityTypeLabelKey], labels[corev1.LabelTopologyZone], w.price(claim))
	}
	if api.ConditionTrue(claim.Status.Conditions, api.ConditionTypeRegistered) {
		once(nodestate.StepRegistered, "%s as node %s", claim.Name, claim.Status.NodeName)
	}
	if api.ConditionTrue(claim.Status.Conditions, api.ConditionTypeInitialized) {
		once(nodestate.StepInitialized, "%s", claim.Name)
	}
	if claim.DeletionTimestamp != nil {
		once(nodestate.StepDraining, "%s", claim.Name)
	}
	if api.ConditionTrue(claim.Status.Conditions, api.ConditionTypeDrained) {
		once(nodestate.StepDrained, "%s", claim.Name)
	}
}

func requests(claim *api.NodeClaim) string {
	cpu, memory, pods := claim.Spec.Resources.Requests[corev1.ResourceCPU],
		claim.Spec.Resources.Requests[corev1.ResourceMemory], claim.Spec.Resources.Requests[corev1.ResourcePods]
	return fmt.Sprintf("cpu %s, memory %s, pods %s", cpu.String(), memory.String(), pods.String())
}

// waits looks at the pods that became pending after a time. It returns the first such time, and the
// longest wait from pending to running.
func (w *watcher) waits(since time.Time) (first time.Time, slowest time.Duration) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, times := range w.pods {
		if times.pending.IsZero() || times.pending.Before(since) {
			continue
		}
		if first.IsZero() || times.pending.Before(first) {
			first = times.pending
		}
		if !times.running.IsZero() {
			slowest = max(slowest, times.running.Sub(times.pending))
		}
	}
	return first, slowest
}
