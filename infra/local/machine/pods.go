package machine

import (
	"context"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// RunForAnnotation returns the time that the containers of a pod with restartPolicy Never or
// OnFailure run until they succeed, as a Go duration. Without it they run until the pod is deleted.
const RunForAnnotation = "local.whittle.dev/run-for"

// podWorker is a pod on this machine.
type podWorker struct {
	// stop is closed when the pod is to end; grace is valid then.
	stop     chan struct{}
	stopping bool
	grace    time.Duration
	deleted  chan struct{} // closed when the API server has forgotten the pod
}

// watchPods follows the pods that are bound to this node, which is all that a node may see.
func (k *kubelet) watchPods(ctx context.Context) {
	selector := fields.OneTermEqualSelector("spec.nodeName", k.nodeName)
	pods := cache.NewListWatchFromClient(k.client.CoreV1().RESTClient(), "pods", metav1.NamespaceAll, selector)
	_, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: pods, ObjectType: &corev1.Pod{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { k.syncObject(ctx, object) },
			UpdateFunc: func(_, object any) { k.syncObject(ctx, object) },
			DeleteFunc: func(object any) { k.forgetObject(object) },
		},
	})
	controller.RunWithContext(ctx)
}

func (k *kubelet) syncObject(ctx context.Context, object any) {
	if pod, ok := object.(*corev1.Pod); ok {
		k.sync(ctx, pod)
	}
}

func (k *kubelet) forgetObject(object any) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if worker := k.pods[string(pod.UID)]; worker != nil {
		close(worker.deleted)
		delete(k.pods, string(pod.UID))
	}
}

// sync starts a worker for a new pod, and tells the worker of a deleted pod to end it.
func (k *kubelet) sync(ctx context.Context, pod *corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	worker := k.pods[string(pod.UID)]
	if worker == nil {
		worker = &podWorker{stop: make(chan struct{}), deleted: make(chan struct{})}
		k.pods[string(pod.UID)] = worker
		k.spawn(ctx, func(ctx context.Context) { k.work(ctx, pod, worker) })
	}
	if pod.DeletionTimestamp != nil && !worker.stopping {
		worker.stopping = true
		if pod.DeletionGracePeriodSeconds != nil {
			worker.grace = time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
		}
		close(worker.stop)
	}
}

// work is a pod's life on the machine.
func (k *kubelet) work(ctx context.Context, pod *corev1.Pod, worker *podWorker) {
	started := pod.Status.StartTime
	if started == nil {
		now := metav1.Now()
		started = &now
	}
	terminal := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	defer k.unmount(ctx, pod)
	if !terminal && k.mount(ctx, pod, worker) && k.pause(ctx, worker, k.timing.PodStart) {
		ip := k.addressOf(pod)
		k.writeStatus(ctx, pod, worker, runningStatus(pod, *started, ip, k.instance.PrivateIPAddress))
		if runFor := runTime(pod); runFor > 0 && k.pause(ctx, worker, runFor) {
			k.writeStatus(ctx, pod, worker, endedStatus(pod, *started, ip, k.instance.PrivateIPAddress))
			terminal = true
		}
	}
	select {
	case <-ctx.Done():
		return
	case <-worker.deleted:
		return
	case <-worker.stop:
	}
	if !wait(ctx, min(worker.grace, k.timing.PodStop)) {
		return
	}
	k.unmount(ctx, pod)
	// A job counts its pods by their last phase and holds them with a finalizer until it has; for
	// others that write would only cost.
	if len(pod.Finalizers) > 0 && !terminal {
		k.writeStatus(ctx, pod, worker, endedStatus(pod, *started, pod.Status.PodIP, k.instance.PrivateIPAddress))
	}
	k.remove(ctx, pod, worker)
}

// addressOf is the pod's address: the one it has, the machine's, or a new one.
func (k *kubelet) addressOf(pod *corev1.Pod) string {
	switch {
	case pod.Status.PodIP != "":
		return pod.Status.PodIP
	case pod.Spec.HostNetwork:
		return k.instance.PrivateIPAddress
	default:
		return k.podIP()
	}
}

// pause waits and is false when the pod or the machine ended meanwhile.
func (k *kubelet) pause(ctx context.Context, worker *podWorker, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-worker.stop:
	case <-worker.deleted:
	case <-ctx.Done():
	}
	return false
}

// runTime is the time after which the pod's containers exit by themselves; 0 for never.
func runTime(pod *corev1.Pod) time.Duration {
	if pod.Spec.RestartPolicy == corev1.RestartPolicyAlways {
		return 0
	}
	d, err := time.ParseDuration(pod.Annotations[RunForAnnotation])
	if err != nil {
		return 0
	}
	return d
}

// writeStatus patches a pod's status until it is written or does not matter any more.
func (k *kubelet) writeStatus(ctx context.Context, pod *corev1.Pod, worker *podWorker, status corev1.PodStatus) {
	// The UID keeps the patch from a new pod of the same name.
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": status})
	if err != nil {
		k.console.print("kubelet: status of pod %s/%s: %v", pod.Namespace, pod.Name, err)
		return
	}
	k.insist(ctx, worker, "writing the status of pod "+pod.Namespace+"/"+pod.Name, func() error {
		_, err := k.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch,
			metav1.PatchOptions{}, "status")
		return err
	})
}

// remove deletes a pod from the API server after its containers have ended.
func (k *kubelet) remove(ctx context.Context, pod *corev1.Pod, worker *podWorker) {
	k.insist(ctx, worker, "removing pod "+pod.Namespace+"/"+pod.Name, func() error {
		now := int64(0)
		return k.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &pod.UID},
		})
	})
}

// insist repeats a call until it succeeds or the pod is gone.
func (k *kubelet) insist(ctx context.Context, worker *podWorker, what string, do func() error) {
	for retry := registerRetry; ; retry = min(retry*3/2, slowRetry) {
		err := do()
		if err == nil || ctx.Err() != nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return
		}
		k.console.print("kubelet: %s: %v", what, err)
		timer := time.NewTimer(retry)
		select {
		case <-timer.C:
		case <-worker.deleted:
			timer.Stop()
			return
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}
