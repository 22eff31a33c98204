package nodeclaim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/events/own"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/disruption/reboot"
)

// initialize labels a registered node as ready for pods once nothing hinders it.
func (p *pass) initialize() {
	if !p.is(api.ConditionTypeRegistered) || p.is(api.ConditionTypeInitialized) || p.is(api.ConditionTypeRebooting) {
		p.setReady()
		return
	}
	if reason, message := p.hindrance(); reason != "" {
		p.condition(api.ConditionTypeInitialized, conditionUnknown, reason, message)
		// No timeout ends this wait. After the time of a registration the ticks look often enough.
		if min(p.launchedFor(), p.now.Sub(reboot.EndedAt(p.claim))) < registrationTimeout {
			p.lookAgain(joinPause)
		}
		p.setReady()
		return
	}
	if p.node.Labels == nil {
		p.node.Labels = map[string]string{}
	}
	p.node.Labels[api.NodeInitializedLabelKey] = "true"
	p.condition(api.ConditionTypeInitialized, conditionTrue, "", "")
	p.log("initialized nodeclaim",
		"allocatable", p.node.Status.Allocatable, "after", p.age().Round(time.Second).String())
	p.recordTransition(api.ConditionTypeInitialized)
	p.reportRefused()
	p.publish(own.NodeReady{Head: own.HeadOf(p.view.Cluster), Node: p.published()})
	p.setReady()
	p.outcome.Again = 0
}

// setReady sets the condition Ready from the others.
func (p *pass) setReady() {
	api.SetReady(&p.claim.Status.Conditions, api.NodeClaimReadyDependents(), p.claim.Generation, p.now)
}

// hindrance is why the node is not initialized yet, as a condition's reason and message. Both are
// empty when nothing hinders it.
func (p *pass) hindrance() (reason, message string) {
	if p.node == nil {
		return api.ReasonNodeNotFound, api.MessageNodeNotFound
	}
	if !disruption.IsReady(p.node) {
		return api.ReasonNodeNotReady, "Node status is NotReady"
	}
	for _, taint := range p.claim.Spec.StartupTaints {
		if hasTaint(p.node.Spec.Taints, taint) {
			return api.ReasonStartupTaintsExist, fmt.Sprintf("StartupTaint %q still exists", taint.ToString())
		}
	}
	for _, taint := range p.node.Spec.Taints {
		if api.IsEphemeralTaint(taint) {
			return api.ReasonKnownEphemeralTaintsExist, fmt.Sprintf("KnownEphemeralTaint %q still exists", taint.ToString())
		}
	}
	var missing []string
	for name, requested := range p.claim.Spec.Resources.Requests {
		if allocatable := p.node.Status.Allocatable[name]; !requested.IsZero() && allocatable.IsZero() {
			missing = append(missing, string(name))
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return api.ReasonResourceNotRegistered,
			fmt.Sprintf("Resource %q was requested but not registered", strings.Join(missing, ", "))
	}
	return "", ""
}
