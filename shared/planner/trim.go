package planner

// trim drops the nodes planned since first for which the limits do not leave enough for a list of types that meets minValues.
func (k *packer) trim(first int) {
	p := k.p
	left := map[*pool][]int64{}
	kept := k.nodes[:0]
	for at, n := range k.nodes {
		pool := p.offers.configOf(n.column).pool
		if !p.offers.strict(pool) || len(pool.limits) == 0 {
			kept = append(kept, n)
			continue
		}
		if left[pool] == nil {
			left[pool] = pool.left()
		}
		_, most := p.needed(n)
		if at >= first && (most == nil || !withinLeft(most, left[pool])) {
			k.unfill(n)
			k.take(n.column, -1)
			continue
		}
		for i := range most {
			left[pool][i] -= most[i]
		}
		kept = append(kept, n)
	}
	k.nodes = kept
}
