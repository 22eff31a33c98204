package scheduling

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// A NodeClaim and its Node leave one after the other, and Whittle asks three questions about
// the pair. Their answers differ while only the Node is being deleted, because its finalizer
// holds it until the claim has ended:
//
//	                     Node deleted  claim deleted  instance terminating  disrupted taint
//	IsDeletionRequested  yes           yes            no                    no
//	IsLeaving            no            yes            yes                   no
//	IsClosedToPods       yes           yes            yes                   yes
//
// In each function the claim or the node may be nil: a claim has no node before its machine
// joins, and a node that another tool manages has no claim.

// IsDeletionRequested reports whether somebody has deleted the claim or the node. The
// disruption budgets count such a node, and Whittle begins no disruption of it.
func IsDeletionRequested(claim *api.NodeClaim, node *corev1.Node) bool {
	return claim != nil && claim.DeletionTimestamp != nil || node != nil && node.DeletionTimestamp != nil
}

// IsLeaving reports whether the instance is going to end, so that its pods need other places.
// The claim decides, since deleting it is what ends an instance. The node's own deletion counts
// only where there is no claim.
func IsLeaving(claim *api.NodeClaim, node *corev1.Node) bool {
	if claim != nil {
		return claim.DeletionTimestamp != nil ||
			api.ConditionTrue(claim.Status.Conditions, api.ConditionTypeInstanceTerminating)
	}
	return node != nil && node.DeletionTimestamp != nil
}

// CountsAnnotationKey marks a leaving claim of a snapshot that counts against its pool's limits, because it
// may stay after all. It is never written to the cluster.
const CountsAnnotationKey = api.OwnGroup + "/counts-against-limits"

// CountsAgainstLimits reports whether the node counts against the limits of its pool. One that
// leaves for certain does not, so that a pool at its limit can replace it.
func CountsAgainstLimits(claim *api.NodeClaim, node *corev1.Node) bool {
	return !IsLeaving(claim, node) || claim != nil && claim.Annotations[CountsAnnotationKey] != ""
}

// IsClosedToPods reports whether no more pods may be planned for the node. Unlike IsLeaving it is
// also true for a node that was deleted before its claim, for one with the taint of a disruption, and
// for one that is not trusted. Where there is neither claim nor node, nothing takes pods.
func IsClosedToPods(claim *api.NodeClaim, node *corev1.Node) bool {
	switch {
	case IsLeaving(claim, node):
		return true
	case node == nil:
		return claim == nil
	}
	return node.DeletionTimestamp != nil || IsDisruptionTainted(node) || node.Annotations[UntrustedAnnotationKey] != ""
}

// UntrustedAnnotationKey marks a node of a snapshot that gets no pods, because what its kubelet says of it
// is not true. The value says why. It is never written to the cluster.
const UntrustedAnnotationKey = api.OwnGroup + "/untrusted"

// Mark returns the annotations with one more. The given ones, which other objects may share, stay as they
// are.
func Mark(annotations map[string]string, key, value string) map[string]string {
	marked := maps.Clone(annotations)
	if marked == nil {
		marked = map[string]string{}
	}
	marked[key] = value
	return marked
}

// IsDisruptionTainted reports whether the node carries the taint karpenter.sh/disrupted, with
// any effect.
func IsDisruptionTainted(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		return taint.Key == api.DisruptedTaintKey
	})
}
