package nodeclaim

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/freeze"
)

// Hold says which freeze a step waits for, by the claim that it is about. The steps after it wait,
// too. The zero value is a step that no freeze holds.
type Hold struct {
	Voluntary bool
	What      freeze.What
	Claim     *api.NodeClaim
}

// HoldOf is the hold of the step.
func HoldOf(step Step) Hold {
	switch step := step.(type) {
	case DeleteClaim:
		return step.Hold
	case Evict:
		return step.Hold
	case DeletePod:
		return step.Hold
	case Terminate:
		return step.Hold
	}
	return Hold{}
}

// orderedLate is how long after a freeze Whittle may delete a claim at most: a call that was under
// way, and clocks that differ.
const orderedLate = 30 * time.Second

// Holds is the freeze that holds the step, or nil.
func (h Hold) Holds(frozen *freeze.Freezes, now time.Time) *freeze.Freeze {
	if !h.Voluntary {
		return nil
	}
	held := frozen.Of(h.What, h.Claim.Labels[api.NodePoolLabelKey], now)
	deleted := h.Claim.DeletionTimestamp
	if held == nil || deleted == nil || held.Since.IsZero() || !deleted.After(held.Since.Add(orderedLate)) {
		return held
	}
	return nil // a person deleted it during the freeze
}

// Hold is what a freeze may hold of the claim: its drain, or its end for its age. It is the zero
// value for a claim that Whittle does not end by choice. AWS' announcements and interruptions come
// first, and an instance that has ended is only released.
func (v *View) Hold(now time.Time) Hold {
	claim := v.Claim
	departure, announced := disruption.DepartureOf(claim)
	instance := v.Instance()
	if announced && departure.Near(now) || v.Absent || instance != nil && instance.isEnding() {
		return Hold{}
	}
	for _, node := range v.Nodes {
		if node.Annotations[api.InterruptedAnnotationKey] != "" {
			return Hold{}
		}
	}
	if deleted := claim.DeletionTimestamp; deleted != nil {
		said := api.GetCondition(claim.Status.Conditions, api.ConditionTypeDisruptionReason)
		disrupted := said != nil && said.Status == conditionTrue && api.DisruptionReason(said.Reason).IsVoluntary()
		if disrupted || said == nil && expiredAt(claim, deleted.Time) {
			return Hold{Voluntary: true, What: freeze.Drains, Claim: claim}
		}
		return Hold{}
	}
	if expiredAt(claim, now) {
		return Hold{Voluntary: true, What: freeze.Disruptions, Claim: claim}
	}
	return Hold{}
}

// expiredAt reports whether the claim had outlived its expireAfter at the time.
func expiredAt(claim *api.NodeClaim, at time.Time) bool {
	expires := claim.Spec.ExpireAfter.Duration
	return expires != nil && at.Sub(claim.CreationTimestamp.Time) >= *expires
}

// markHeld writes on the steps which freeze holds them.
func (p *pass) markHeld() {
	hold := p.view.Hold(p.now)
	if !hold.Voluntary {
		return
	}
	for i, step := range p.outcome.Steps {
		switch step := step.(type) {
		case DeleteClaim:
			step.Hold = hold
			p.outcome.Steps[i] = step
		case Evict:
			step.Hold = hold
			p.outcome.Steps[i] = step
		case DeletePod:
			step.Hold = hold
			p.outcome.Steps[i] = step
		case Terminate:
			step.Hold = hold
			p.outcome.Steps[i] = step
		}
	}
}

// waitForThaw leaves the node as it is while a freeze holds its drain.
func (p *pass) waitForThaw() {
	p.condition(api.ConditionTypeDrained, conditionUnknown, reasonDraining, "Draining waits: "+p.view.Frozen)
	if p.view.Report {
		for _, about := range p.subjects() {
			p.record(about, corev1.EventTypeNormal, "DisruptionBlocked", "The drain waits: "+p.view.Frozen)
		}
	}
	p.write()
	p.outcome.Again = 0
	p.lookAgain(eventPause)
}

func (p *pass) subjects() []corev1.ObjectReference {
	about := []corev1.ObjectReference{disruption.AboutClaim(p.claim)}
	if p.node != nil {
		about = append(about, disruption.AboutNode(p.node))
	}
	return about
}
