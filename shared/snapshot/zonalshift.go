package snapshot

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption/protection"
	"github.com/whittle-dev/whittle/shared/membership"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// ShieldShifted marks the nodes of shifted zones, given by id with the end of the shift. Disruption
// then leaves them alone, and moves no pod to them. It replaces the nodes' maps, which other nodes
// may share.
func (o *Objects) ShieldShifted(shifted map[string]time.Time, now time.Time) {
	if len(shifted) == 0 {
		return
	}
	members := membership.Join(o.NodeClaims, o.Nodes)
	for i := range o.Nodes {
		node := &o.Nodes[i]
		zone := node.Labels[api.LabelTopologyZoneID]
		if claim := members.Claim(node); claim != nil && claim.Labels[api.LabelTopologyZoneID] != "" {
			zone = claim.Labels[api.LabelTopologyZoneID]
		}
		until, away := shifted[zone]
		if !away || !now.Before(until) {
			continue
		}
		node.Annotations = scheduling.Mark(
			node.Annotations, protection.ZoneShiftedAnnotationKey, until.UTC().Format(time.RFC3339))
		node.Spec.Unschedulable = true
	}
}

// allows reports whether requirements admit the value of a label.
func allows(requirements scheduling.Requirements, key, value string) bool {
	required, found := requirements[key]
	return !found || required.Has(value)
}

// PoolsInZone returns the pools that may have nodes in the zone with the id: their class has a subnet
// there, and their requirements allow it.
func PoolsInZone(pools []api.NodePool, classes []api.EC2NodeClass, zoneID string) []*api.NodePool {
	var found []*api.NodePool
	for i := range pools {
		pool := &pools[i]
		ref := pool.Spec.Template.Spec.NodeClassRef
		if !ref.IsEC2NodeClass() {
			continue
		}
		at := slices.IndexFunc(classes, func(class api.EC2NodeClass) bool { return class.Name == ref.Name })
		requirements, err := scheduling.FromTerms(pool.Spec.Template.Spec.Requirements)
		if at < 0 || err != nil {
			continue
		}
		if slices.ContainsFunc(classes[at].Status.Subnets, func(subnet api.Subnet) bool {
			return subnet.ZoneID == zoneID && allows(requirements, corev1.LabelTopologyZone, subnet.Zone) &&
				allows(requirements, api.LabelTopologyZoneID, zoneID)
		}) {
			found = append(found, pool)
		}
	}
	return found
}
