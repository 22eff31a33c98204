package nodeclaim

import (
	"maps"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption/drift"
)

// checkDrift shows on the claim whether its node would be made differently today. Lifecycle does
// it, and not disrupt, because its tick has everything at hand. It has the pools, the resolved
// classes, and what EC2 reports of each instance.
func (p *pass) checkDrift() {
	origin := p.view.Origin
	if origin == nil || len(p.view.Nodes) > 1 {
		return
	}
	if hashes := origin.Hashes(p.view.Claim); len(hashes) > 0 {
		if p.claim.Annotations == nil {
			p.claim.Annotations = map[string]string{}
		}
		maps.Copy(p.claim.Annotations, hashes)
	}
	was := api.ConditionTrue(p.claim.Status.Conditions, api.ConditionTypeDrifted)
	origin.SetDrifted(p.claim, &p.claim.Status.Conditions, p.machine(), p.now)
	is := api.GetCondition(p.claim.Status.Conditions, api.ConditionTypeDrifted)
	switch {
	case is != nil && !was:
		p.log("marking drifted", "reason", is.Reason, "because", is.Message)
	case is == nil && was:
		p.log("removing drifted status condition, not drifted")
	}
}

// machine is what EC2 reports of the instance; nil where it reports nothing.
func (p *pass) machine() *drift.Machine {
	instance := p.view.Instance()
	if instance == nil {
		return nil
	}
	return &drift.Machine{
		SubnetID: instance.SubnetID, SecurityGroupIDs: instance.SecurityGroupIDs, ReservationID: instance.ReservationID,
	}
}
