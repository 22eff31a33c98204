package snapshot

import (
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/membership"
)

// ShieldAsleep marks the nodes of pools that sleep as unschedulable, so that no move brings pods to them.
func (o *Objects) ShieldAsleep(now time.Time) {
	asleep := map[string]bool{}
	for i := range o.NodePools {
		if o.NodePools[i].Rest(now).Asleep {
			asleep[o.NodePools[i].Name] = true
		}
	}
	if len(asleep) == 0 {
		return
	}
	members := membership.Join(o.NodeClaims, o.Nodes)
	for i := range o.Nodes {
		if claim := members.Claim(&o.Nodes[i]); claim != nil && asleep[claim.Labels[api.NodePoolLabelKey]] {
			o.Nodes[i].Spec.Unschedulable = true
		}
	}
}
