package packing

import (
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/placement"
)

// trim drops the nodes planned since first for which the limits do not leave enough for a list of
// types that meets minValues.
func (k *packer) trim(first int) {
	p := k.p
	left := map[*offering.Pool][]int64{}
	kept := k.nodes[:0]
	for at, n := range k.nodes {
		pool := p.Offers.PoolTypeOf(n.Offering).Pool
		if !p.Offers.StrictMinValues(pool) || len(pool.Limits) == 0 {
			kept = append(kept, n)
			continue
		}
		if left[pool] == nil {
			left[pool] = pool.LimitsLeft()
		}
		_, most := p.NeededForMinValues(n)
		if at >= first && (most == nil || !placement.WithinLimits(most, left[pool])) {
			k.unfill(n)
			k.Take(n.Offering, -1)
			continue
		}
		for i := range most {
			left[pool][i] -= most[i]
		}
		kept = append(kept, n)
	}
	k.nodes = kept
}
