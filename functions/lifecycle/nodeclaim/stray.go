package nodeclaim

import (
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/launch"
	"github.com/whittle-dev/whittle/shared/membership"
)

// Strays returns the instances of the cluster that no claim has. The answer of their launch was
// lost, or somebody removed the finalizer of their claim. The instances must be listed before the
// claims. A claim with a provider id keeps that instance alone. A claim without one keeps every
// instance that is tagged with its name or its batch.
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
		tags := instance.Tags
		kept := owned[instance.ID] || launching[tags[api.NodeClaimTagKey]] || batches[tags[api.BatchTagKey]]
		if !kept && !instance.isEnding() && now.Sub(instance.LaunchTime) >= listedWithin {
			strays = append(strays, instance)
		}
	}
	return strays
}

// Leftovers returns, by the names of claims, the instances of batches that nobody needs any more:
// each claim of the batch that has no provider id is deleted. They count against the limits of
// their pool, so that they must end before their claims go.
func Leftovers(instances []Instance, claims []api.NodeClaim) map[string][]Instance {
	owned, stays, leaving := map[string]bool{}, map[string]bool{}, map[string][]string{}
	for i := range claims {
		claim := &claims[i]
		if id, ok := api.InstanceID(claim.Status.ProviderID); ok {
			owned[id] = true
		} else if token, batched := batchToken(claim); batched {
			stays[token] = stays[token] || claim.DeletionTimestamp == nil
			leaving[token] = append(leaving[token], claim.Name)
		}
	}
	left := map[string][]Instance{}
	for _, instance := range instances {
		token := instance.Tags[api.BatchTagKey]
		if owned[instance.ID] || stays[token] || instance.Tags[api.NodeClaimTagKey] != "" {
			continue
		}
		for _, name := range leaving[token] {
			left[name] = append(left[name], instance)
		}
	}
	return left
}

// batchToken returns the token of the batch in which the claim is launched, and false for a claim
// that is launched by itself.
func batchToken(claim *api.NodeClaim) (string, bool) {
	batch, err := launch.BatchOf(claim)
	return launch.Token(claim), err == nil && batch.ID != ""
}

// EndStray returns the steps that end an instance without a claim, and its nodes.
func EndStray(instance Instance, nodes []*corev1.Node) []Step {
	steps := []Step{Terminate{InstanceID: instance.ID}, Log{
		Message:    "garbage collected cloudprovider instance",
		Attributes: []any{"provider-id", api.ProviderID(instance.Zone, instance.ID)},
	}}
	for _, node := range nodes {
		steps = append(steps, DeleteNode{Name: node.Name, UID: node.UID}, deletedNode(node.Name))
	}
	return steps
}

// deletedNode is the log line of a node that is gone.
func deletedNode(name string) Log {
	return Log{Message: "deleted node", Attributes: []any{"Node", name}}
}

// staleLeaseAfter is the age after which a lease without a node is garbage. A kubelet writes its
// lease before its node is listed.
const staleLeaseAfter = time.Hour

// StrayLeases returns the leases of nodes that are gone. Kubernetes deletes leases that name their
// node as owner. The others come from kubelets that were cut off before they knew their node.
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
		if !there[lease.Name] && len(lease.OwnerReferences) == 0 && now.Sub(last) >= staleLeaseAfter {
			strays = append(strays, *lease)
		}
	}
	return strays
}

// ReleaseOrphans returns, for each deleted node that has no claim any more, the steps that remove
// Whittle's finalizer.
func ReleaseOrphans(nodes []corev1.Node, claims []api.NodeClaim) [][]Step {
	members := membership.Join(claims, nodes)
	var orphans [][]Step
	for i := range nodes {
		node := &nodes[i]
		held := slices.Contains(node.Finalizers, api.TerminationFinalizer)
		// Before the registration nobody knows which of several nodes is the claim's.
		stranger := members.Stranger(node)
		claimed := members.Claim(node) != nil || stranger != nil && stranger.Status.NodeName == ""
		if node.DeletionTimestamp == nil || claimed || !held {
			continue
		}
		orphans = append(orphans, []Step{removeFinalizer(node), deletedNode(node.Name)})
	}
	return orphans
}
