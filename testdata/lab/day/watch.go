package day

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/scenario"
)

const (
	namespace = "default"
	// sampleEvery is the time between two samples.
	sampleEvery = time.Second
	// agent is the DaemonSet, whose pods are no reason for a node.
	agent = "agent"
	// appLabel names a pod's workload.
	appLabel = "app"
)

// watcher records a day.
type watcher struct {
	client *scenario.Client
	ec2    *ec2.Service
	began  time.Time

	mutex     sync.Mutex
	pods      map[string]*podSeen // by UID
	instances map[string]*Instance
	claims    map[string]*claimSeen // by the id of the instance
	samples   []Sample
	failure   error // of the last sample
}

// podSeen is a pod with its latest state.
type podSeen struct {
	Pod
	node       string
	processors float64
	over       bool // whether it has ended or ends
}

// claimSeen is what a claim was made for.
type claimSeen struct {
	nominated map[string]bool // the UIDs of pods
	replaces  bool
}

func newWatcher(client *scenario.Client, instances *ec2.Service) *watcher {
	return &watcher{
		client: client, ec2: instances, began: time.Now(), pods: map[string]*podSeen{}, instances: map[string]*Instance{},
		claims: map[string]*claimSeen{},
	}
}

// watch records until the context ends.
func (w *watcher) watch(ctx context.Context) {
	pods := cache.NewListWatchFromClient(w.client.Core.CoreV1().RESTClient(), "pods", namespace, fields.Everything())
	_, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: pods, ObjectType: &corev1.Pod{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    w.pod,
			UpdateFunc: func(_, object any) { w.pod(object) },
			DeleteFunc: w.gone,
		},
	})
	go controller.RunWithContext(ctx)
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		w.sample(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// pod records a pod's creation, its node and its end.
func (w *watcher) pod(object any) {
	pod, ok := object.(*corev1.Pod)
	if !ok || pod.Labels[appLabel] == agent {
		return
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	seen := w.pods[string(pod.UID)]
	if seen == nil {
		seen = &podSeen{Pod: Pod{Name: pod.Name, Workload: pod.Labels[appLabel], Created: time.Now()}}
		for _, container := range pod.Spec.Containers {
			seen.processors += container.Resources.Requests.Cpu().AsApproximateFloat64()
		}
		w.pods[string(pod.UID)] = seen
	}
	seen.over = pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded ||
		pod.Status.Phase == corev1.PodFailed
	if pod.Spec.NodeName != "" && seen.Bound.IsZero() {
		seen.node, seen.Bound = pod.Spec.NodeName, time.Now()
		w.serve(seen.node)
	}
}

// serve notes that a pod was bound to the node of an instance. It is called with the lock held.
func (w *watcher) serve(node string) {
	for _, i := range w.ec2.Instances() {
		if i.PrivateDNSName == node && live(&i) {
			w.instance(&i).Served = true
		}
	}
}

func (w *watcher) gone(object any) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if seen := w.pods[string(pod.UID)]; seen != nil {
		seen.over, seen.Gone = true, time.Now()
	}
}

// instance returns the record of an instance. It is called with the lock held.
func (w *watcher) instance(i *ec2.Instance) *Instance {
	known := w.instances[i.ID]
	if known == nil {
		known = &Instance{
			ID: i.ID, Pool: i.Tags[api.NodePoolTagKey], PricePerHour: i.PricePerHour, Launched: i.Launched,
			Old: !strings.HasSuffix(i.Image.Name, strings.TrimPrefix(newImage, imageFamily)),
		}
		w.instances[i.ID] = known
	}
	return known
}

// live reports whether EC2 charges for an instance.
func live(i *ec2.Instance) bool { return i.State != ec2.ShuttingDown && i.State != ec2.Terminated }

// sample reads the instances and the claims.
func (w *watcher) sample(ctx context.Context) {
	claims, err := w.client.NodeClaims(ctx)
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if err != nil {
		w.failure = err
		return
	}
	w.failure = nil
	for i := range claims {
		w.claim(&claims[i])
	}
	sample := Sample{At: time.Now()}
	busy := map[string]bool{}
	for _, pod := range w.pods {
		if pod.over || pod.node == "" {
			continue
		}
		busy[pod.node] = true
		sample.Requested += pod.processors
		if pod.Workload == reports {
			sample.Limited++
		}
	}
	for _, i := range w.ec2.Instances() {
		if i.Launched.Before(w.began) {
			continue
		}
		known := w.instance(&i)
		if !live(&i) {
			if known.Ended.IsZero() {
				known.Ended = sample.At
			}
			continue
		}
		sample.Processors += float64(i.Facts.VCPUs)
		if !busy[i.PrivateDNSName] {
			sample.Empty++
		}
	}
	w.samples = append(w.samples, sample)
}

// claim notes what an instance was launched for. It is called with the lock held.
func (w *watcher) claim(claim *api.NodeClaim) {
	id, ours := api.InstanceID(claim.Status.ProviderID)
	if !ours {
		return
	}
	known := w.claims[id]
	if known == nil {
		known = &claimSeen{nominated: map[string]bool{}}
		w.claims[id] = known
	}
	for uid := range strings.SplitSeq(claim.Annotations[api.NominatedPodsAnnotationKey], ",") {
		known.nominated[uid] = true
	}
	known.replaces = known.replaces || claim.Annotations[api.ReplacesAnnotationKey] != ""
}

// record returns what was seen so far.
func (w *watcher) record() *Record {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	r := &Record{Began: w.began, Ended: time.Now(), Samples: w.samples}
	for _, pod := range w.pods {
		r.Pods = append(r.Pods, pod.Pod)
	}
	for id, known := range w.instances {
		instance := *known
		if claim := w.claims[id]; claim != nil {
			instance.Replaces = claim.replaces
			instance.For = w.workloads(claim)
		}
		r.Instances = append(r.Instances, instance)
	}
	return r
}

// workloads returns the workloads of a claim's pods. It is called with the lock held.
func (w *watcher) workloads(claim *claimSeen) []string {
	found := map[string]bool{}
	for uid := range claim.nominated {
		if pod := w.pods[uid]; pod != nil {
			found[pod.Workload] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}
