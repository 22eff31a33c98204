package nodeclaim

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/launch"
)

// minimumDrain is how long a node is watched after it was marked, an empty one too:
// the scheduler may be about to bind a pod that it chose the node for before it saw
// the mark.
const minimumDrain = 5 * time.Second

// Reasons of the conditions of an ending claim while they are not true.
const (
	reasonDraining                 = "Draining"
	reasonAwaitingVolumeDetachment = "AwaitingVolumeDetachment"
)

// end brings a deleted claim to its end: mark, drain, detach, terminate, and when
// the instance is gone, the node and the claim.
func (p *pass) end() {
	if !slices.Contains(p.claim.Finalizers, api.TerminationFinalizer) {
		return
	}
	p.lookAgain(soon)
	p.limit()
	switch {
	case p.claim.Status.ProviderID == "":
		p.endUnlaunched()
	case p.node != nil && p.halted():
		p.endHalted()
	case p.is(api.ConditionTypeInstanceTerminating):
		p.awaitInstance()
	case p.node == nil || p.drained() && p.detached():
		p.terminate()
	default:
		p.write()
	}
}

// limit writes down when patience ends, so that everyone sees the same time.
func (p *pass) limit() {
	grace := p.claim.Spec.TerminationGracePeriod
	if _, set := p.claim.Annotations[api.NodeClaimTerminationTimestampAnnotationKey]; set || grace == nil {
		return
	}
	limit := p.claim.DeletionTimestamp.Add(grace.Duration)
	p.annotate(api.NodeClaimTerminationTimestampAnnotationKey, limit.UTC().Format(time.RFC3339))
	if p.node != nil {
		p.record(disruption.AboutNode(p.node), corev1.EventTypeWarning, "TerminationGracePeriodExpiring",
			"All pods will be deleted by "+limit.UTC().Format(time.RFC3339))
	}
}

// deadline is when patience ends, if it does.
func (p *pass) deadline() (time.Time, bool) {
	limit, err := time.Parse(time.RFC3339, p.claim.Annotations[api.NodeClaimTerminationTimestampAnnotationKey])
	return limit, err == nil
}

// endUnlaunched ends a claim that has no instance yet. Its launch may have got
// through without the answer being written down, and EC2 may show it late.
func (p *pass) endUnlaunched() {
	for i := range p.view.Instances {
		if instance := &p.view.Instances[i]; !instance.Ended() {
			p.do(Terminate{InstanceID: instance.ID})
			p.say("terminating instance of a nodeclaim without provider id", "instance", instance.ID)
		}
	}
	p.write()
	listed := len(p.view.Instances) > 0
	running := slices.ContainsFunc(p.view.Instances, func(i Instance) bool { return !i.Ended() })
	// Which of a batch's instances was the claim's nobody knows: while the claim is there
	// all of them are kept for the others, and once it is gone what none of them has is a
	// stray. It must not be gone before everything that was asked for it can be seen, since
	// the others are launched anew where nothing is.
	within := listedWithin
	if _, batched := batchToken(p.claim); batched {
		within = launch.SettledAfter
	}
	surely := p.view.InstancesListed && p.now.Sub(p.claim.DeletionTimestamp.Time) >= within
	if !running && (listed || surely) {
		p.release()
	}
}

// gone tells that EC2 does not run the instance any more. A new instance may be
// missing in EC2's list for a while.
func (p *pass) gone() bool {
	if !p.view.InstancesListed {
		return false
	}
	if instance := p.view.instance(); instance != nil {
		return instance.Ended()
	}
	return p.launchedFor() >= listedWithin
}

// terminate ends the instance, whatever EC2 lists: an instance that is gone is a
// success, and one that only seems gone must not go on running.
func (p *pass) terminate() {
	id, ok := api.InstanceID(p.claim.Status.ProviderID)
	if !ok {
		p.record(disruption.AboutClaim(p.claim), corev1.EventTypeWarning, "FailedTermination",
			"status.providerID "+p.claim.Status.ProviderID+" names no EC2 instance: end the machine by hand, then remove the finalizer "+api.TerminationFinalizer)
		p.outcome.Again = 0
		p.write()
		return
	}
	p.do(p.work...) // the last pods are told before their machine ends
	p.work = nil
	p.do(Terminate{InstanceID: id})
	p.condition(api.ConditionTypeInstanceTerminating, conditionTrue, "", "")
	p.say("terminating instance", "instance", id)
	p.write()
	if p.gone() {
		p.release()
	}
}

// awaitInstance lets go of the node and the claim when the instance has ended.
func (p *pass) awaitInstance() {
	if p.gone() {
		p.write()
		p.release()
		return
	}
	if instance := p.view.instance(); instance != nil {
		p.do(Terminate{InstanceID: instance.ID})
	}
	p.write()
}

// release removes the finalizers, the node's first: a claim outlives its node.
func (p *pass) release() {
	for _, node := range p.view.Nodes {
		if slices.Contains(node.Finalizers, api.TerminationFinalizer) {
			p.do(PatchNode{Name: node.Name, Patch: map[string]any{"metadata": map[string]any{
				"resourceVersion": node.ResourceVersion,
				"finalizers":      without(node.Finalizers, api.TerminationFinalizer),
			}}})
		}
		// Pods that could not be drained go with the node: nothing runs them any more.
		p.do(DeleteNode{Name: node.Name, UID: node.UID}, Log{Message: "deleted node", Attributes: p.names()})
	}
	p.do(PatchClaim{Patch: map[string]any{"metadata": map[string]any{
		"finalizers": without(p.claim.Finalizers, api.TerminationFinalizer),
	}}}, Log{Message: "deleted nodeclaim", Attributes: p.names()})
	p.outcome.Again = 0
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
