package nodeclaim

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// forgiveAfter is how long past its time a limit of a claim stays that was written to end
// the claim and did not: whoever wrote it orders the end with the next call.
const forgiveAfter = 5 * time.Minute

// repair orders the end of a claim whose node is sick: at once and past whatever protects
// its pods, since a sick node cannot be trusted to end them.
func (p *pass) repair() bool {
	sickness := p.view.Sickness
	if patch := disruption.EndBy(p.claim, p.now, p.now); patch != nil {
		p.do(PatchClaim{Patch: patch})
	}
	reason, kind := "DisruptionTerminating", corev1.EventTypeNormal
	if sickness.ByEC2 {
		reason, kind = "InstanceUnhealthy", corev1.EventTypeWarning
	}
	message := "Replacing the unhealthy node: " + sickness.String()
	p.record(disruption.AboutClaim(p.claim), kind, reason, message)
	if p.node != nil {
		p.record(disruption.AboutNode(p.node), kind, reason, message)
	}
	return p.delete("deleting unhealthy node", "condition", sickness.Condition, "status", sickness.Status, "since", sickness.Since,
		"NodePool", p.claim.Labels[api.NodePoolLabelKey], "capacity-type", p.claim.Labels[api.CapacityTypeLabelKey], "image-id", p.claim.Status.ImageID)
}

// forgive takes the limit of an end back that was not ordered after all: who wrote it died,
// and the node has recovered. Else a later end would be past whatever protects its pods.
func (p *pass) forgive() {
	if limit, limited := p.deadline(); limited && p.now.Sub(limit) >= forgiveAfter {
		p.annotate(api.NodeClaimTerminationTimestampAnnotationKey, "")
	}
}

// announce has the claim remember the work that EC2 has announced for its instance, as
// AWS Health's events do, and forget what is announced no more.
func (p *pass) announce() {
	if !p.view.StatusRead {
		return
	}
	known, announced := disruption.DepartureOf(p.claim)
	stands := slices.ContainsFunc(p.view.Departures, func(d disruption.Departure) bool { return d.Because == known.Because })
	if announced && known.OfInstanceStatus() && !stands {
		p.annotate(disruption.DepartsAtAnnotationKey, "")
		p.annotate(disruption.DepartsBecauseAnnotationKey, "")
	}
	for _, departure := range p.view.Departures {
		if disruption.MarkDeparture(p.claim, departure) == nil {
			continue
		}
		at := departure.At.UTC().Format(time.RFC3339)
		p.annotate(disruption.DepartsAtAnnotationKey, at)
		p.annotate(disruption.DepartsBecauseAnnotationKey, departure.Because)
		p.record(disruption.AboutClaim(p.claim), corev1.EventTypeWarning, "InstanceUnhealthy",
			fmt.Sprintf("EC2 has announced work on the instance at %s: %s", at, departure.Because))
	}
}
