package nodeclaim

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// departs tells whether AWS takes the instance soon, by what was announced of it.
func (p *pass) departs() bool {
	departure, announced := disruption.DepartureOf(p.claim)
	return announced && departure.Near(p.now)
}

// endBeforeDeparture orders the claim's end, by the time at which AWS takes the instance.
func (p *pass) endBeforeDeparture() bool {
	departure, _ := disruption.DepartureOf(p.claim)
	if patch := disruption.EndBy(p.claim, departure.At, p.now); patch != nil {
		p.do(PatchClaim{Patch: patch})
	}
	return p.delete("deleting nodeclaim before its instance is taken", "reason", departure.Because, "at", departure.At)
}

// detachWithin is how long the node of an instance that runs no more is kept for the sake
// of its volumes: Kubernetes detaches them within seconds, while the node says that it
// is out of service.
const detachWithin = time.Minute

// outOfService is the mark of a node that certainly runs nothing any more. With it
// Kubernetes detaches volumes at once, instead of waiting six minutes for a kubelet to
// unmount them.
// https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/#non-graceful-node-shutdown
func outOfService() corev1.Taint {
	return corev1.Taint{Key: corev1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute}
}

// halted tells that the instance runs nothing any more: EC2 says that it has stopped or
// ended, or does not know it, and no kubelet speaks for it. While it is stopping or
// shutting down pods may still run.
func (p *pass) halted() bool {
	if instance := p.view.instance(); instance != nil {
		return instance.halted()
	}
	return p.gone() && !disruption.IsReady(p.node)
}

// endHalted ends the claim of an instance that runs nothing any more: there is nothing to
// drain, but what Kubernetes believes to run there keeps others waiting.
func (p *pass) endHalted() {
	stranded := p.stranded()
	attached := !p.awaitedVolumes() && !p.detached()
	if len(stranded) > 0 || attached {
		p.mark()
		p.abandon(stranded)
		p.write()
		return
	}
	if p.is(api.ConditionTypeInstanceTerminating) {
		p.awaitInstance()
		return
	}
	p.terminate()
}

// awaitedVolumes tells that the node was kept for its volumes for long enough.
func (p *pass) awaitedVolumes() bool {
	awaited := api.GetCondition(p.view.Claim.Status.Conditions, api.ConditionTypeVolumesDetached)
	return awaited != nil && p.since(api.ConditionTypeVolumesDetached) >= detachWithin
}

// stranded are the pods that are believed to run. Those of daemon sets and static ones
// have no successors elsewhere, and go with the node; so does one that was ended already
// and that a finalizer holds.
func (p *pass) stranded() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, pod := range p.view.Pods {
		held := pod.DeletionTimestamp != nil && pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0
		if !held && !scheduling.IsOwnedByDaemonSet(pod) && !scheduling.IsStatic(pod) && !scheduling.IsTerminal(pod) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// abandon marks the node and ends the pods, so that their controllers make others now; the
// API server would otherwise keep them for minutes, waiting for a kubelet to confirm what
// it cannot. No budget is asked: what it guards is gone. That EC2 vouches for it makes it
// safe for a StatefulSet too, of whose pods no two with one name may run.
func (p *pass) abandon(pods []*corev1.Pod) {
	if !slices.ContainsFunc(p.node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == corev1.TaintNodeOutOfService }) {
		p.node.Spec.Taints = append(p.node.Spec.Taints, outOfService())
		p.say("node is out of service")
	}
	for _, pod := range pods {
		p.afterwards(DeletePod{Pod: pod})
		p.record(aboutPod(pod), corev1.EventTypeNormal, "Disrupted", "Deleting the pod: the instance of its node runs no more")
		p.outcome.Displaces = true
	}
}
