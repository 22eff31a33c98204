package nodeclaim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

const (
	// leastCapacity is the part of what was expected of a node that it must have at least:
	// Karpenter's.
	leastCapacity = 0.9
	// stuckDrainAfter is how long a drain may take before it is said to be stuck.
	stuckDrainAfter = 10 * time.Minute

	reasonConsistencyCheckFailed = "ConsistencyCheckFailed"
)

// consistent says whether the node has what its claim was made for: pods are planned by
// the claim until the node is there, and whoever pays less than a tenth too much knows it.
func (p *pass) consistent() {
	if p.node == nil || !p.is(api.ConditionTypeInitialized) {
		return
	}
	names := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods, corev1.ResourceEphemeralStorage}
	for name, requested := range p.claim.Spec.Resources.Requests {
		if !slices.Contains(names, name) && !requested.IsZero() {
			names = append(names, name)
		}
	}
	var issues []string
	for _, name := range names {
		expected, found := p.claim.Status.Capacity[name], p.node.Status.Capacity[name]
		if have, want := found.AsApproximateFloat64(), expected.AsApproximateFloat64(); have < leastCapacity*want {
			issues = append(issues, fmt.Sprintf("expected %s of resource %s, but found %s (%.1f%% of expected)", expected.String(), name, found.String(), 100*have/want))
		}
	}
	slices.Sort(issues)
	p.consistency(issues)
}

// stuck says that a drain has lasted for long.
func (p *pass) stuck(waiting int) {
	if p.is(api.ConditionTypeDrained) || p.markedFor() < stuckDrainAfter {
		return
	}
	p.consistency([]string{fmt.Sprintf("cannot drain the node: %d pods stay", waiting)})
}

func (p *pass) consistency(issues []string) {
	if len(issues) == 0 {
		p.condition(api.ConditionTypeConsistentStateFound, conditionTrue, "", "")
		return
	}
	message := strings.Join(issues, ", ")
	if p.condition(api.ConditionTypeConsistentStateFound, conditionFalse, reasonConsistencyCheckFailed, message) {
		p.record(disruption.AboutClaim(p.claim), corev1.EventTypeWarning, "FailedConsistencyCheck", message)
	}
}
