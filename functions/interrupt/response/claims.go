package response

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/events"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// claimIndex finds Whittle's claims by the ids that events name.
type claimIndex struct {
	byInstance, byReservation map[string][]*api.NodeClaim
}

// index leaves out the claims of other controllers' node classes.
func index(claims []api.NodeClaim) *claimIndex {
	found := &claimIndex{map[string][]*api.NodeClaim{}, map[string][]*api.NodeClaim{}}
	for i := range claims {
		claim := &claims[i]
		if !claim.Spec.NodeClassRef.IsEC2NodeClass() {
			continue
		}
		if id, launched := api.InstanceID(claim.Status.ProviderID); launched {
			found.byInstance[id] = append(found.byInstance[id], claim)
		}
		if reservation := claim.Labels[api.LabelCapacityReservationID]; reservation != "" {
			found.byReservation[reservation] = append(found.byReservation[reservation], claim)
		}
	}
	return found
}

// about returns the claims that an event is about: those of its instances, or those that use the
// capacity reservation that it names.
func (c *claimIndex) about(detail events.Detail) []*api.NodeClaim {
	var found []*api.NodeClaim
	for _, id := range detail.Instances() {
		found = append(found, c.byInstance[id]...)
	}
	if expiration, ok := detail.(*events.CapacityBlockExpiration); ok {
		found = append(found, c.byReservation[expiration.ReservationID]...)
	}
	return found
}

// Taint returns the patch that keeps new pods and load balancers off the node. It returns nil for
// a node that has the taint. Lifecycle would need a second call for the label. The reason on the node
// tells people later why it leaves.
func Taint(node *corev1.Node, reason string) map[string]any {
	patch := disruption.Taint(node)
	if patch == nil {
		return nil
	}
	labels := map[string]string{api.LabelExcludeFromLoadBalancers: api.ExcludeFromLoadBalancersValue}
	metadata := patch["metadata"].(map[string]any)
	metadata["labels"], metadata["annotations"] = labels, map[string]string{api.InterruptedAnnotationKey: reason}
	return patch
}
