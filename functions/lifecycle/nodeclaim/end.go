package nodeclaim

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/launch"
)

// minimumDrain is how long a node is kept after it was marked, even an empty one. The scheduler may
// be about to bind a pod for which it chose the node before it saw the mark.
const minimumDrain = 5 * time.Second

// Reasons of the conditions of an ending claim while they are not true.
const (
	reasonDraining                 = api.ReasonDraining
	reasonAwaitingVolumeDetachment = api.ReasonAwaitingVolumeDetachment
)

// end brings a deleted claim to its end. It marks and drains the node, waits for its volumes, and
// terminates the instance. When the instance has ended, it releases the node and the claim.
func (p *pass) end() {
	if !slices.Contains(p.claim.Finalizers, api.TerminationFinalizer) {
		return
	}
	p.lookAgain(drainPause)
	p.setDeadline()
	p.explainEnd()
	switch {
	case p.claim.Status.ProviderID == "":
		p.endUnlaunched()
	case p.node != nil && p.halted():
		p.endHalted()
	case p.is(api.ConditionTypeInstanceTerminating):
		p.awaitInstance()
	case p.view.Frozen != "":
		p.waitForThaw()
	case p.node == nil || p.drained() && p.detached():
		p.terminate()
	default:
		p.write()
	}
}

// setDeadline writes on the claim when its grace period ends, so that every pass uses the same
// time.
func (p *pass) setDeadline() {
	grace := p.claim.Spec.TerminationGracePeriod
	_, set := p.claim.Annotations[api.NodeClaimTerminationTimestampAnnotationKey]
	if set || grace == nil {
		return
	}
	limit := p.claim.DeletionTimestamp.Add(grace.Duration).UTC().Format(time.RFC3339)
	p.annotate(api.NodeClaimTerminationTimestampAnnotationKey, limit)
	if p.node != nil {
		p.reportDeadline()
	}
}

// reportDeadline says when the pods are deleted. The deadline may be that of the grace period, of a
// repair or of an announced end of the instance.
func (p *pass) reportDeadline() {
	limit := p.claim.Annotations[api.NodeClaimTerminationTimestampAnnotationKey]
	for _, about := range []corev1.ObjectReference{disruption.AboutNode(p.node), disruption.AboutClaim(p.claim)} {
		p.record(about, corev1.EventTypeWarning, "TerminationGracePeriodExpiring", "All pods will be deleted by "+limit)
	}
}

// deadline is the time after which the drain waits for nothing, if there is one.
func (p *pass) deadline() (time.Time, bool) {
	limit, err := time.Parse(time.RFC3339, p.claim.Annotations[api.NodeClaimTerminationTimestampAnnotationKey])
	return limit, err == nil
}

// endUnlaunched ends a claim that has no instance yet. A launch may have succeeded although its
// answer was not written down, and EC2 may list the instance late.
func (p *pass) endUnlaunched() {
	for i := range p.view.Instances {
		if instance := &p.view.Instances[i]; !instance.isEnding() {
			p.do(Terminate{InstanceID: instance.ID})
			p.log("terminating instance of a nodeclaim without provider id", "instance", instance.ID)
		}
	}
	p.write()
	// Nobody knows which instance of a batch belongs to which claim. While another claim of it stays,
	// all of them are kept. Once it has gone, those that no claim has are strays. This claim must not
	// go before everything that was launched for it is listed, because the other claims launch again
	// where nothing is listed.
	//
	// A pass of provision that read the claim before may go on for a minute and launch, and may end before
	// it notes anything. EC2 shows the instance late. A claim that went before would leave it, and the
	// limits of its pool would not count it.
	surely := p.view.InstancesListed && p.now.Sub(p.claim.DeletionTimestamp.Time) >= launch.SettledAfter
	// An instance that shuts down is listed until it has ended.
	if len(p.view.Instances) == 0 && surely {
		p.release()
	}
}

// terminate terminates the instance, whatever EC2 lists. The call succeeds for an instance that has
// gone, and an instance that only seems to have gone must not go on running.
func (p *pass) terminate() {
	id, ok := api.InstanceID(p.claim.Status.ProviderID)
	if !ok {
		p.record(disruption.AboutClaim(p.claim), corev1.EventTypeWarning, "FailedTermination",
			"status.providerID "+p.claim.Status.ProviderID+" names no EC2 instance: "+
				"end the machine by hand, then remove the finalizer "+api.TerminationFinalizer)
		p.outcome.Again = 0
		p.write()
		return
	}
	if p.isShifted() && !p.ended() {
		p.waitForShift()
		return
	}
	p.do(p.work...) // the last pods are deleted before their machine ends
	p.work = nil
	p.do(Terminate{InstanceID: id})
	p.condition(api.ConditionTypeInstanceTerminating, conditionTrue, "", "")
	p.log("terminating instance", "instance", id)
	p.write()
	// The pods and volumes of a node come before its release.
	if p.node == nil && p.ended() {
		p.release()
	}
}

// waitForShift keeps the instance until the zonal shift away from its zone has ended, as Karpenter
// does.
func (p *pass) waitForShift() {
	if p.view.Report {
		p.record(disruption.AboutClaim(p.claim), corev1.EventTypeNormal, api.EventReasonZonalShiftActive,
			"The instance is terminated after the zonal shift away from its zone, which lasts until "+
				p.view.ShiftedUntil.UTC().Format(time.RFC3339))
	}
	p.write()
	p.lookAgain(drainPause)
}

// awaitInstance releases the node and the claim when the instance has ended. Before that a pod may
// still run there, and its successor of the same name must not start beside it.
func (p *pass) awaitInstance() {
	if p.ended() {
		p.write()
		p.release()
		return
	}
	id, _ := api.InstanceID(p.claim.Status.ProviderID)
	instance := p.view.Instance()
	if !p.isShifted() && (p.view.Absent || instance != nil && !instance.isEnding()) {
		p.do(Terminate{InstanceID: id})
	}
	if instance != nil && instance.isEnding() {
		p.outcome.Again = 0 // nothing but the instance's end is left, and EventBridge tells of it
		p.lookAgain(eventPause)
	}
	p.write()
}

// release removes the finalizers, the node's first: a claim outlives its node.
func (p *pass) release() {
	p.confirm()
	for _, node := range p.view.Nodes {
		if slices.Contains(node.Finalizers, api.TerminationFinalizer) {
			p.do(removeFinalizer(node))
		}
		// Pods that could not be drained go with the node, since nothing runs them any more.
		p.do(DeleteNode{Name: node.Name, UID: node.UID}, Log{Message: "deleted node", Attributes: p.names()})
	}
	p.do(PatchClaim{Patch: map[string]any{"metadata": map[string]any{
		"finalizers": without(p.claim.Finalizers, api.TerminationFinalizer),
	}}}, Log{Message: "deleted nodeclaim", Attributes: p.names()}, p.terminated())
	p.outcome.Again = 0
}

// terminated is the event that ends the claim's story.
func (p *pass) terminated() Record {
	labels, why := p.claim.Labels, cmp.Or(p.disruptionReason(), "the NodeClaim was deleted")
	what := "the instance"
	if kind, zone := labels[corev1.LabelInstanceTypeStable], labels[corev1.LabelTopologyZone]; kind != "" && zone != "" {
		what = fmt.Sprintf("%s, %s in %s,", kind, labels[api.CapacityTypeLabelKey], zone)
	}
	return Record{
		About: disruption.AboutClaim(p.claim), Type: corev1.EventTypeNormal, Reason: api.EventReasonTerminated,
		Message: fmt.Sprintf("Terminated %s after %s: %s", what,
			duration.HumanDuration(p.now.Sub(p.claim.CreationTimestamp.Time)), why),
	}
}

// disruptionReason is why the claim says that its node is disrupted, or "".
func (p *pass) disruptionReason() string {
	said := api.GetCondition(p.claim.Status.Conditions, api.ConditionTypeDisruptionReason)
	if said == nil || said.Status != metav1.ConditionTrue {
		return ""
	}
	return said.Reason
}

// removeFinalizer is the step that releases the node.
func removeFinalizer(node *corev1.Node) PatchNode {
	return PatchNode{Name: node.Name, Patch: map[string]any{"metadata": map[string]any{
		"resourceVersion": node.ResourceVersion,
		"finalizers":      without(node.Finalizers, api.TerminationFinalizer),
	}}}
}

func without(list []string, item string) []string {
	kept := []string{}
	for _, other := range list {
		if other != item {
			kept = append(kept, other)
		}
	}
	return kept
}
