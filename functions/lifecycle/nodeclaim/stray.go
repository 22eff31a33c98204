package nodeclaim

import (
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/launch"
)

// Strays finds the instances of the cluster, listed before the claims, that no
// claim stands for: a launch whose answer was lost, or a claim whose finalizer
// somebody removed. A claim without a provider id keeps every instance that is
// tagged with its name, or with its batch while it has not been told which of them
// is its own; one with a provider id keeps that alone.
func Strays(instances []Instance, claims []api.NodeClaim, now time.Time) []Instance {
	owned, launching, batches := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i := range claims {
		claim := &claims[i]
		if id, ok := api.InstanceID(claim.Status.ProviderID); ok {
			owned[id] = true
			continue
		}
		launching[claim.Name] = true
		if token, batched := batchToken(claim); batched {
			batches[token] = true
		}
	}
	var strays []Instance
	for _, instance := range instances {
		kept := owned[instance.ID] || launching[instance.Tags[api.NodeClaimTagKey]] || batches[instance.Tags[api.BatchTagKey]]
		if !kept && !instance.Ended() && now.Sub(instance.LaunchTime) >= listedWithin {
			strays = append(strays, instance)
		}
	}
	return strays
}

// batchToken is the token of the batch that the claim is launched with, and false for
// one that is launched by itself.
func batchToken(claim *api.NodeClaim) (string, bool) {
	batch, err := launch.BatchOf(claim)
	return launch.Token(claim), err == nil && batch.ID != ""
}

// EndStray gives the steps that end an instance without a claim, and its node.
func EndStray(instance Instance, nodes []*corev1.Node) []Step {
	steps := []Step{Terminate{InstanceID: instance.ID}, Log{
		Message:    "garbage collected cloudprovider instance",
		Attributes: []any{"provider-id", api.ProviderID(instance.Zone, instance.ID)},
	}}
	for _, node := range nodes {
		steps = append(steps, DeleteNode{Name: node.Name, UID: node.UID}, Log{Message: "deleted node", Attributes: []any{"Node", node.Name}})
	}
	return steps
}

// leaseLeft is how long a kubelet must not have renewed its lease for it to be garbage; a
// node that joins writes its lease before it is seen.
const leaseLeft = time.Hour

// StrayLeases finds the leases of nodes that are gone. Kubernetes collects those that name
// their node as their owner; a kubelet that was cut off before it knew its node left the
// others.
func StrayLeases(leases []coordinationv1.Lease, nodes []corev1.Node, now time.Time) []coordinationv1.Lease {
	there := map[string]bool{}
	for i := range nodes {
		there[nodes[i].Name] = true
	}
	var strays []coordinationv1.Lease
	for i := range leases {
		lease := &leases[i]
		last := lease.CreationTimestamp.Time
		if renewed := lease.Spec.RenewTime; renewed != nil && renewed.After(last) {
			last = renewed.Time
		}
		if !there[lease.Name] && len(lease.OwnerReferences) == 0 && now.Sub(last) >= leaseLeft {
			strays = append(strays, *lease)
		}
	}
	return strays
}

// ReleaseOrphans gives, node by node, the steps that let go of deleted nodes which
// our finalizer holds though no claim stands for them any more.
func ReleaseOrphans(nodes []corev1.Node, claims []api.NodeClaim) [][]Step {
	claimed := map[string]bool{}
	for i := range claims {
		if id := claims[i].Status.ProviderID; id != "" {
			claimed[id] = true
		}
	}
	var orphans [][]Step
	for i := range nodes {
		node := &nodes[i]
		if node.DeletionTimestamp == nil || claimed[node.Spec.ProviderID] || !slices.Contains(node.Finalizers, api.TerminationFinalizer) {
			continue
		}
		orphans = append(orphans, []Step{PatchNode{Name: node.Name, Patch: map[string]any{"metadata": map[string]any{
			"resourceVersion": node.ResourceVersion,
			"finalizers":      without(node.Finalizers, api.TerminationFinalizer),
		}}}, Log{Message: "deleted node", Attributes: []any{"Node", node.Name}}})
	}
	return orphans
}
