package planner

import "github.com/whittle-dev/whittle/shared/plan"

// planUnplaced notes the pods without a place, and for each node pool why.
func (p *problem) planUnplaced() {
	for _, left := range p.refused {
		switch {
		case left.demand == nil:
			p.unplaced(left.pods, []plan.Reason{{Message: left.reason}})
		case len(p.offers.pools) == 0:
			p.unplaced(left.pods, []plan.Reason{{Message: "there is no node pool: create a NodePool and an EC2NodeClass"}})
		default:
			var reasons []plan.Reason
			for _, pool := range p.offers.pools {
				reasons = append(reasons, plan.Reason{NodePool: pool.name(), Message: p.explain(pool, left.demand)})
			}
			p.unplaced(left.pods, reasons)
		}
	}
}
