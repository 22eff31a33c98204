package nodeclaim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/membership"
)

const (
	// leastCapacity is the least share of the expected capacity that a node must have: Karpenter's.
	leastCapacity = 0.9
	// stuckDrainAfter is the time after which a drain is reported as stuck.
	stuckDrainAfter = 10 * time.Minute

	reasonConsistencyCheckFailed = api.ReasonConsistencyCheckFailed
)

// checkConsistency compares an initialized node with what its claim was made for. Pods were planned
// by the claim, so that a smaller node leaves some of them without a place. One that claims to be larger
// would get pods that it cannot run. A node that others pretend to be is reported before that, too.
func (p *pass) checkConsistency() {
	if p.node == nil || !p.is(api.ConditionTypeInitialized) {
		if issues := p.strangers(); len(issues) > 0 {
			p.reportConsistency(issues)
		}
		return
	}
	names := []corev1.ResourceName{
		corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods, corev1.ResourceEphemeralStorage,
	}
	for name, requested := range p.claim.Spec.Resources.Requests {
		if !slices.Contains(names, name) && !requested.IsZero() {
			names = append(names, name)
		}
	}
	var issues []string
	for _, name := range names {
		expected, found := p.claim.Status.Capacity[name], p.node.Status.Capacity[name]
		if have, want := found.AsApproximateFloat64(), expected.AsApproximateFloat64(); have < leastCapacity*want {
			issues = append(issues, fmt.Sprintf("expected %s of resource %s, but found %s (%.1f%% of expected)",
				expected.String(), name, found.String(), 100*have/want))
		}
	}
	slices.Sort(issues)
	for _, excess := range membership.Overstated(p.claim, p.node) {
		issues = append(issues, "the kubelet reports "+excess+": Whittle plans no pods for the node, "+
			"find out who has changed it")
	}
	p.reportConsistency(append(issues, p.strangers()...))
}

// strangers says which nodes have the claim's providerID without being its node. A kubelet that has lost
// its own node can write itself one.
func (p *pass) strangers() []string {
	issues := make([]string, len(p.view.Others))
	for i, node := range p.view.Others {
		issues[i] = "node " + node.Name + " has the same providerID and is not the instance's: " +
			"find out which machine runs its kubelet, and delete the node"
	}
	slices.Sort(issues)
	return issues
}

// reportStuckDrain reports a drain that has lasted for long.
func (p *pass) reportStuckDrain(waiting int) {
	if p.is(api.ConditionTypeDrained) || p.markedFor() < stuckDrainAfter {
		return
	}
	p.reportConsistency([]string{fmt.Sprintf("cannot drain the node: %d pods stay", waiting)})
}

func (p *pass) reportConsistency(issues []string) {
	if len(issues) == 0 {
		p.condition(api.ConditionTypeConsistentStateFound, conditionTrue, "", "")
		return
	}
	message := strings.Join(issues, ", ")
	if p.condition(api.ConditionTypeConsistentStateFound, conditionFalse, reasonConsistencyCheckFailed,
		"Consistency Check Failed: "+message) {
		p.record(disruption.AboutClaim(p.claim), corev1.EventTypeWarning, "FailedConsistencyCheck", message)
	}
}
