package nodeclaim

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/disruption/reboot"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Karpenter's times of a reboot.
const (
	// askFor is how long EC2 is asked for a reboot that it does not accept.
	askFor = 5 * time.Minute
	// returnWithin is how long a node may take to come back.
	returnWithin = 20 * time.Minute
	// rebootPause is the time until the next look at a node that is expected back.
	rebootPause = 15 * time.Second
)

// reboot brings a reboot that disrupt has ordered forward, and reports whether it gave the node up:
//
//  1. Requested: the taint keeps pods off the node, and its pods are evicted until the drain's end.
//  2. The claim gets the boot id and the time. Both show later passes that EC2 may have been asked.
//  3. EC2 is asked, until it accepts.
//  4. Issued: the node is not initialized until it has another boot id and is ready.
func (p *pass) reboot() (gaveUp bool) {
	switch {
	case !p.is(api.ConditionTypeRebooting):
		return false
	case reboot.IsIssued(p.claim):
		return p.awaitBoot()
	}
	bound, limited, err := reboot.DrainBound(p.claim)
	if err != nil {
		p.endReboot(api.ReasonRebootFailed, err.Error())
		p.record(disruption.AboutClaim(p.claim), corev1.EventTypeWarning, api.EventReasonRebootFailed, err.Error())
		return false
	}
	if p.node == nil {
		return p.awaitNode()
	}
	fresh := p.fence()
	_, asked := p.claim.Annotations[api.RebootPreBootIDAnnotationKey]
	switch {
	case asked && p.rebooted():
		p.setIssued() // the pass that asked EC2 died before it wrote the answer
		return false
	case p.isShifted():
		p.lookAgain(rebootPause)
		return false
	case asked && p.now.Sub(p.askedSince()) >= askFor:
		return p.giveUpReboot("EC2 has not accepted the reboot within " + askFor.String())
	case asked, limited && bound == 0, p.drainedForReboot(bound, limited) && !fresh:
		p.askForReboot()
	}
	return false
}

// fence keeps new pods off the node, and reports whether that is new.
func (p *pass) fence() bool {
	taint := api.RebootingNoScheduleTaint()
	if hasTaint(p.node.Spec.Taints, taint) {
		return false
	}
	p.node.Spec.Taints = append(p.node.Spec.Taints, taint)
	p.log("tainted node", "taint.Key", taint.Key, "taint.Effect", string(taint.Effect))
	p.lookAgain(drainPause)
	return true
}

// drainedForReboot evicts pods, and reports whether nothing is waited for any more. Pods that are left
// at the drain's end stay on the node, and start again with it. So do those of daemon sets.
func (p *pass) drainedForReboot(bound time.Duration, limited bool) bool {
	requested := reboot.RequestedAt(p.claim)
	if limited && !p.now.Before(requested.Add(max(bound, reboot.MinimumDrain))) {
		return true
	}
	waiting := slices.DeleteFunc(p.waiting(), scheduling.IsOwnedByDaemonSet)
	if len(waiting) > 0 {
		p.evict(waiting)
		p.lookAgain(drainPause)
		return false
	}
	p.lookAt(requested.Add(reboot.MinimumDrain))
	return p.now.Sub(requested) >= reboot.MinimumDrain
}

// rebooted reports whether the node has another boot id than before.
func (p *pass) rebooted() bool {
	return p.node.Status.NodeInfo.BootID != p.claim.Annotations[api.RebootPreBootIDAnnotationKey]
}

// askedSince is when EC2 was first asked for the reboot. A claim on which somebody else has written the
// boot id gets the time now.
func (p *pass) askedSince() time.Time {
	begun := reboot.Begun(p.claim)
	if len(begun) > 0 && !begun[len(begun)-1].Before(reboot.RequestedAt(p.claim)) {
		return begun[len(begun)-1]
	}
	p.annotate(api.RebootsAnnotationKey, reboot.Remember(p.claim, p.now))
	return p.now
}

// askForReboot asks EC2 for the reboot, after the claim shows that it may happen.
func (p *pass) askForReboot() {
	if _, asked := p.claim.Annotations[api.RebootPreBootIDAnnotationKey]; !asked {
		p.annotate(api.RebootPreBootIDAnnotationKey, p.node.Status.NodeInfo.BootID)
		p.annotate(api.RebootsAnnotationKey, reboot.Remember(p.claim, p.now))
	}
	id, _ := api.InstanceID(p.claim.Status.ProviderID)
	p.asked = append(p.asked, Reboot{InstanceID: id, Refused: p.failReboot(
		"EC2 refuses to reboot " + id + ", as lifecycle's log shows: its role may lack ec2:RebootInstances")})
	p.setIssued()
	p.log("rebooting unhealthy node", "instance", id)
}

// setIssued shows that EC2 has accepted the reboot.
func (p *pass) setIssued() {
	condition := api.GetCondition(p.claim.Status.Conditions, api.ConditionTypeRebooting)
	p.condition(api.ConditionTypeRebooting, conditionTrue, api.ReasonRebootIssued, condition.Message)
	p.condition(api.ConditionTypeInitialized, conditionUnknown, api.ReasonRebooting, "node is rebooting")
	p.lookAgain(drainPause)
}

// awaitBoot waits until the node is back.
func (p *pass) awaitBoot() (gaveUp bool) {
	if p.node != nil {
		delete(p.node.Labels, api.NodeInitializedLabelKey)
		if p.rebooted() && disruption.IsReady(p.node) {
			p.endReboot(api.ReasonRebootSucceeded, "node rebooted and rejoined the cluster")
			p.record(disruption.AboutClaim(p.claim), corev1.EventTypeNormal, api.EventReasonRebootObserved,
				"The node was rebooted and is ready again")
			return false
		}
	}
	switch {
	case p.is(api.ConditionTypeInitialized):
		p.setIssued() // somebody else wrote that the node is initialized, so that its time is not known
	case p.since(api.ConditionTypeInitialized) >= returnWithin && !p.isShifted():
		return p.giveUpReboot("the node was not back within " + returnWithin.String())
	}
	p.lookAgain(rebootPause)
	return false
}

// awaitNode waits until the claim has a single node again, as long as EC2 would be asked.
func (p *pass) awaitNode() (gaveUp bool) {
	if p.now.Sub(reboot.RequestedAt(p.claim)) >= askFor && !p.isShifted() {
		return p.giveUpReboot("no single node has the claim's provider id")
	}
	p.lookAgain(rebootPause)
	return false
}

// endReboot writes the end of a reboot whose node stays. The bound of the drain stays on the claim. If
// it went first, a pass that died then would leave an order without a bound.
func (p *pass) endReboot(reason, message string) {
	if p.node != nil {
		p.node.Spec.Taints = slices.DeleteFunc(p.node.Spec.Taints, func(taint corev1.Taint) bool {
			return taint.Key == api.RebootingTaintKey
		})
	}
	p.annotate(api.RebootPreBootIDAnnotationKey, "")
	p.condition(api.ConditionTypeRebooting, metav1.ConditionFalse, reason, message)
	p.log("reboot ended", "reason", reason, "because", message)
}

// giveUpReboot deletes the claim of a node whose reboot has failed. Its drain is bounded like the one
// before the reboot.
func (p *pass) giveUpReboot(why string) bool {
	p.do(p.failReboot(why)...)
	p.lookAgain(drainPause)
	p.outcome.WantsCapacity = p.node != nil
	return true
}

// failReboot are the steps that delete the claim of a node whose reboot has failed.
func (p *pass) failReboot(why string) []Step {
	var steps []Step
	if bound, limited, err := reboot.DrainBound(p.claim); err == nil && limited {
		if patch := disruption.EndBy(p.claim, p.now.Add(bound), p.now); patch != nil {
			steps = append(steps, PatchClaim{Patch: patch})
		}
	}
	return append(steps,
		Log{Message: "deleting nodeclaim after a failed reboot", Attributes: append(p.names(), "because", why)},
		Record{
			About: disruption.AboutClaim(p.claim), Type: corev1.EventTypeWarning, Reason: api.EventReasonRebootFailed,
			Message: "The node is replaced: " + why,
		},
		DeleteClaim{})
}
