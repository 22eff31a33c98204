package nodeclaim

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// detachWithin is how long the node of a halted instance is kept for its volumes. Kubernetes
// detaches them within seconds while the node is marked as out of service.
const detachWithin = time.Minute

// outOfService is the taint of a node that certainly runs nothing any more. With it Kubernetes
// detaches volumes at once, instead of waiting six minutes for a kubelet to unmount them.
// https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/#non-graceful-node-shutdown
func outOfService() corev1.Taint {
	return corev1.Taint{Key: corev1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute}
}

// ended reports whether nothing runs on the instance any more, for good: EC2 describes it as
// terminated, or does not know its id.
func (p *pass) ended() bool {
	if instance := p.view.Instance(); instance != nil {
		return instance.State == stateTerminated
	}
	return p.absent()
}

// absent reports whether EC2 does not know the instance's id, and nothing speaks against that. EC2
// may not know a new instance yet, and a kubelet that reports runs somewhere.
func (p *pass) absent() bool {
	ready := p.node != nil && disruption.IsReady(p.node)
	return p.view.Absent && !ready && p.launchedFor() >= surelyKnownWithin
}

// halted reports whether nothing runs on the node's instance at present: EC2 describes it as stopped
// or terminated, or does not know it and the node is not ready. While it is stopping or shutting
// down, pods may still run.
func (p *pass) halted() bool {
	if instance := p.view.Instance(); instance != nil {
		return instance.IsHalted()
	}
	return p.absent()
}

// confirm lets the steps after it happen only if EC2, asked once more by the id, still says that
// nothing runs on the instance. Only of a terminated instance one answer is enough, because no
// instance leaves that state.
func (p *pass) confirm() {
	instance := p.view.Instance()
	id, launched := api.InstanceID(p.claim.Status.ProviderID)
	if launched && (instance == nil || instance.State == stateStopped) {
		p.do(RequireHalted{InstanceID: id})
	}
}

// endHalted ends the claim of a halted instance. There is nothing to drain, but the pods and
// volumes that Kubernetes still sees on the node keep their successors waiting. The instance is
// terminated first, so that nobody starts it again. The pods follow when it has ended.
func (p *pass) endHalted() {
	if !p.is(api.ConditionTypeInstanceTerminating) {
		p.confirm()
		p.terminate()
		return
	}
	if !p.ended() {
		p.awaitInstance()
		return
	}
	stranded := p.stranded()
	attached := !p.awaitedVolumes() && !p.detached()
	if len(stranded) == 0 && !attached {
		p.awaitInstance()
		return
	}
	p.confirm()
	p.mark()
	p.deleteStranded(stranded)
	p.write()
}

// awaitedVolumes reports whether the node was kept for its volumes for long enough.
func (p *pass) awaitedVolumes() bool {
	awaited := api.GetCondition(p.view.Claim.Status.Conditions, api.ConditionTypeVolumesDetached)
	return awaited != nil && p.since(api.ConditionTypeVolumesDetached) >= detachWithin
}

// stranded are the pods that Kubernetes believes to run. Pods of daemon sets and static pods have
// no successors elsewhere and go with the node. So does a pod that was deleted without grace and
// that its own finalizer holds.
func (p *pass) stranded() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, pod := range p.view.Pods {
		grace := pod.DeletionGracePeriodSeconds
		held := pod.DeletionTimestamp != nil && grace != nil && *grace == 0
		if !held && !scheduling.IsOwnedByDaemonSet(pod) && !scheduling.IsStatic(pod) && !scheduling.IsTerminal(pod) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// deleteStranded marks the node as out of service and deletes the pods without grace, so that their
// controllers create others now. The API server would otherwise wait for minutes for a kubelet to
// confirm. Disruption budgets do not apply, since the pods run no more. Because EC2 confirms that,
// a StatefulSet never has two running pods of one name.
func (p *pass) deleteStranded(pods []*corev1.Pod) {
	marked := slices.ContainsFunc(p.node.Spec.Taints, func(taint corev1.Taint) bool {
		return taint.Key == corev1.TaintNodeOutOfService
	})
	if !marked {
		p.node.Spec.Taints = append(p.node.Spec.Taints, outOfService())
		p.log("node is out of service")
	}
	for _, pod := range pods {
		p.afterwards(DeletePod{Pod: pod})
		p.record(disruption.AboutPod(pod), corev1.EventTypeNormal, "Disrupted",
			"Deleting the pod: the instance of its node runs no more")
		p.outcome.WantsCapacity = true
	}
}
