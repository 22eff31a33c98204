package buffer

import (
	"cmp"
	"math"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
	"github.com/whittle-dev/whittle/shared/virtual"
)

// Headroom is how many virtual pods nodes have room for, and what that costs in US dollars an hour.
// A pod costs that part of its node's price which it takes of the node's cores or memory, whichever
// is more. Nodes of unknown price count for nothing.
func Headroom(
	o virtual.Outcome, buffers []Buffer, nodes []plan.Node, priceOf func(*api.NodeClaim) (price float64, isKnown bool),
) (placed int, pricePerHour float64) {
	byName := map[string]*plan.Node{}
	for i := range nodes {
		switch node := &nodes[i]; {
		case node.NodeClaim == nil: // nobody pays for it here
		case node.Node != nil:
			byName[node.Node.Name] = node
		default:
			byName[node.NodeClaim.Name] = node
		}
	}
	for i := range buffers {
		for j := range buffers[i].Pods {
			pod := &buffers[i].Pods[j]
			nomination, fits := o.Fits[plan.RefOf(pod)]
			if !fits {
				continue
			}
			placed++
			node := byName[cmp.Or(nomination.NodeName, nomination.NodeClaimName)]
			if node == nil {
				continue
			}
			if price, isKnown := priceOf(node.NodeClaim); isKnown {
				pricePerHour += price * share(pod, node)
			}
		}
	}
	return placed, pricePerHour
}

// share is the part of the node that the pod takes.
func share(pod *corev1.Pod, node *plan.Node) float64 {
	has := node.NodeClaim.Status.Allocatable
	if node.Node != nil {
		has = node.Node.Status.Allocatable
	}
	requests, part := scheduling.PodRequests(pod), 0.0
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		request, all := requests[name], has[name]
		if all.Sign() > 0 {
			part = max(part, request.AsApproximateFloat64()/all.AsApproximateFloat64())
		}
	}
	return math.Min(part, 1)
}
