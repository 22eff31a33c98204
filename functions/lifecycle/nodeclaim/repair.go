package nodeclaim

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// staleDeadlineAfter is how long a deadline stays on a claim that is not deleted. The pass that
// writes a deadline deletes the claim with its next call.
const staleDeadlineAfter = 5 * time.Minute

// repair deletes the claim of an unhealthy node with a deadline, whatever protects its pods. A node
// whose instance fails a status check cannot be trusted to end them, so its deadline is now.
func (p *pass) repair() bool {
	condition := p.view.Unhealthy
	if patch := disruption.EndBy(p.claim, p.now.Add(condition.Drain), p.now); patch != nil {
		p.do(PatchClaim{Patch: patch})
	}
	reason, kind := "DisruptionTerminating", corev1.EventTypeNormal
	if condition.ByEC2 {
		reason, kind = "InstanceUnhealthy", corev1.EventTypeWarning
	}
	message := "Replacing the unhealthy node: " + condition.String()
	p.record(disruption.AboutClaim(p.claim), kind, reason, message)
	if p.node != nil {
		p.record(disruption.AboutNode(p.node), kind, reason, message)
	}
	return p.delete("deleting unhealthy node",
		"condition", condition.Condition, "status", condition.Status, "since", condition.Since,
		"NodePool", p.claim.Labels[api.NodePoolLabelKey],
		"capacity-type", p.claim.Labels[api.CapacityTypeLabelKey], "image-id", p.claim.Status.ImageID)
}

// clearStaleDeadline removes the deadline of a deletion that was not ordered: the pass that wrote
// it died, and the node has recovered. Otherwise a later drain would ignore what protects the pods.
func (p *pass) clearStaleDeadline() {
	if limit, limited := p.deadline(); limited && p.now.Sub(limit) >= staleDeadlineAfter {
		p.annotate(api.NodeClaimTerminationTimestampAnnotationKey, "")
	}
}
