package disruption

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/disruption/reboot"
	"github.com/whittle-dev/whittle/shared/disruption/repair"
)

// Reboot is a node to reboot, and the drain before.
type Reboot struct {
	Candidate
	// Drain is how long the pods have to leave. Those that are left stay on the node.
	Drain time.Duration
}

// Reboots divides the candidates into nodes that a reboot may repair, and those to replace. A node that
// was rebooted twice in the last day is replaced.
func Reboots(candidates []Candidate, now time.Time) (reboots []Reboot, replace []Candidate) {
	for _, candidate := range candidates {
		if !candidate.unhealthy.RebootClears || reboot.Exhausted(candidate.Node.Claim, now) {
			replace = append(replace, candidate)
			continue
		}
		drain := repair.DrainBound(candidate.Node.Node)
		if grace := candidate.Node.Claim.Spec.TerminationGracePeriod; grace != nil {
			drain = min(drain, grace.Duration)
		}
		reboots = append(reboots, Reboot{Candidate: candidate, Drain: drain})
	}
	return reboots, replace
}

// Because names what makes the node unhealthy, as Karpenter does.
func (r *Reboot) Because() string { return r.unhealthy.Condition + "/" + r.unhealthy.Reason }

// Prepare is the patch of the claim that comes before Order.
func (r *Reboot) Prepare() map[string]any { return reboot.Request(r.Node.Claim, r.Drain) }

// Order is the condition that lets lifecycle reboot the node.
func (r *Reboot) Order() metav1.Condition { return reboot.Order(r.Because()) }
