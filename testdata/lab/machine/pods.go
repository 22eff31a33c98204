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

	rules "github.com/whittle-dev/whittle/testdata/lab/kubelet"
)

// podWorker is a pod on this machine.
type podWorker struct {
	pod     *corev1.Pod   // as the API has it; guarded by the kubelet's lock
	changed chan struct{} // has an element when the pod has changed
	deleted chan struct{} // closed when the API server has forgotten the pod
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
	if worker := k.pods[pod.UID]; worker != nil {
		close(worker.deleted)
		delete(k.pods, pod.UID)
	}
}

// sync starts a worker for a new pod, and tells the worker of another one that it has changed.
func (k *kubelet) sync(ctx context.Context, pod *corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	worker := k.pods[pod.UID]
	if worker == nil {
		worker = &podWorker{pod: pod, changed: make(chan struct{}, 1), deleted: make(chan struct{})}
		k.pods[pod.UID] = worker
		k.spawn(ctx, func(ctx context.Context) { k.work(ctx, worker) })
		return
	}
	worker.pod = pod
	select {
	case worker.changed <- struct{}{}:
	default:
	}
}

// work is a pod's life on the machine: it carries out the verdicts about the pod.
func (k *kubelet) work(ctx context.Context, worker *podWorker) {
	node := k.current(ctx)
	attached, said := false, ""
	for {
		pod, verdict := k.look(worker, node, attached)
		if pod == nil {
			break
		}
		if verdict.Over {
			k.unmount(ctx, pod)
		}
		// A job counts its pods by their last phase and holds them with a finalizer until it has; for
		// others the last write would only cost.
		if verdict.Status != nil && (!verdict.Gone || len(pod.Finalizers) > 0) {
			k.writeStatus(ctx, pod, worker, verdict.Status)
		}
		if verdict.Gone {
			k.remove(ctx, pod, worker)
		}
		if !attached && !verdict.Over {
			var err error
			if attached, err = k.mounted(ctx, pod); attached {
				continue
			} else if err != nil && err.Error() != said {
				said = err.Error()
				k.console.print("kubelet: volumes of pod %s/%s: %v", pod.Namespace, pod.Name, err)
			}
		}
		if !worker.await(ctx, verdict.Again) {
			break
		}
	}
	k.end(ctx, worker)
}

// look returns the pod as the API has it and the verdict about it; nil for a pod that the API has
// forgotten.
func (k *kubelet) look(worker *podWorker, node *corev1.Node, attached bool) (*corev1.Pod, rules.Verdict) {
	k.mu.Lock()
	defer k.mu.Unlock()
	select {
	case <-worker.deleted:
		return nil, rules.Verdict{}
	default:
	}
	return worker.pod, k.rules.Look(worker.pod, rules.Moment{
		Now: time.Now(), Node: node, Attached: attached, HostIP: k.instance.PrivateIPAddress, PodIP: k.podIP,
		Timing: rules.Timing{Start: k.timing.PodStart, Stop: k.timing.PodStop},
	})
}

// end waits until the containers of a pod that the API has forgotten have ended.
func (k *kubelet) end(ctx context.Context, worker *podWorker) {
	for ctx.Err() == nil {
		k.mu.Lock()
		verdict := k.rules.Lose(worker.pod.UID, time.Now())
		k.mu.Unlock()
		if verdict.Over {
			k.unmount(ctx, worker.pod)
			return
		}
		wait(ctx, time.Until(verdict.Again))
	}
}

// await waits until the time, if it is not zero, or until the pod changes. It is false when the
// machine has ended.
func (w *podWorker) await(ctx context.Context, until time.Time) bool {
	var due <-chan time.Time
	if !until.IsZero() {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-due:
	case <-w.changed:
	case <-w.deleted:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// current returns the Node as it is now, or as it was registered where the API server does not say.
func (k *kubelet) current(ctx context.Context) *corev1.Node {
	node, err := k.client.CoreV1().Nodes().Get(ctx, k.nodeName, metav1.GetOptions{})
	if err != nil {
		return k.registered
	}
	return node
}

// writeStatus patches a pod's status until it is written or does not matter any more.
func (k *kubelet) writeStatus(ctx context.Context, pod *corev1.Pod, worker *podWorker, status *corev1.PodStatus) {
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
