package consolidation

import (
	"cmp"
	"slices"
	"strings"
)

// removeEmpty takes away the nodes that nothing runs on.
func (f *fleet) removeEmpty() {
	for _, n := range f.nodes {
		if n.candidate && n.empty() {
			n.removed, n.group = true, &group{taken: map[string]int{n.pool.api.Name: 1}}
		}
	}
}

// deletes tries to take away nodes whose pods fit on other nodes, and reports whether there may be more. Those that the planner finds no places for are not tried again.
func (f *fleet) deletes(failed map[*node]bool) bool {
	best, _ := f.packed(failed)
	if len(best) == 0 {
		return false
	}
	leaving := map[*node]bool{}
	for _, n := range best {
		leaving[n] = true
	}
	for _, s := range f.evaluate(best, f.inOrder(leaving), false) {
		if s.why == "" && f.apply(s) {
			continue
		}
		for _, n := range s.leaving {
			failed[n] = true
		}
	}
	return true
}

// packed are nodes whose pods seem to fit on others, and what taking them away would save, less what it disturbs, in US dollars an hour. Two orders are tried: room is used
// best by the nodes that use least of their price, disturbance by those with the highest price for each pod.
func (f *fleet) packed(failed map[*node]bool) (best []*node, most float64) {
	order := f.inOrder(nil)
	position := map[*node]int{}
	var candidates []*node
	for at, n := range order {
		position[n] = at
		if n.candidate && n.launched == nil && !failed[n] && len(n.pods) > 0 && n.least() <= n.price+priceError {
			candidates = append(candidates, n)
		}
	}
	key := make(map[*node]float64, len(candidates))
	for _, keyOf := range []func(*node) float64{
		func(n *node) float64 { return n.use() },
		func(n *node) float64 { return -n.price / (1 + n.disturbance()) },
	} {
		for _, n := range candidates {
			key[n] = keyOf(n)
		}
		slices.SortFunc(candidates, func(a, b *node) int { return cmp.Or(cmp.Compare(key[a], key[b]), strings.Compare(a.name, b.name)) })
		packing := f.newPacking(order, false)
		var chosen []*node
		saved := 0.0
		for _, n := range candidates {
			if _, fits := packing.empties(position[n]); fits {
				chosen = append(chosen, n)
				saved += n.price - n.pool.perPod*n.disturbance()
			}
		}
		if saved > most {
			best, most = chosen, saved
		}
	}
	return best, most
}

// fold looks for nodes whose pods fit beside those of nodes that moves launch, and plans these together with them. It reports whether that has changed anything.
func (f *fleet) fold() bool {
	f.spared = nil
	order := f.inOrder(nil)
	position := map[*node]int{}
	var candidates []*node
	for at, n := range order {
		position[n] = at
		if n.candidate && len(n.pods) > 0 {
			candidates = append(candidates, n)
		}
	}
	slices.SortFunc(candidates, func(a, b *node) int { return cmp.Or(cmp.Compare(a.use(), b.use()), strings.Compare(a.name, b.name)) })
	changed := false
	packing := f.newPacking(order, true)
	touched := map[*node]bool{}
	for _, n := range candidates {
		if f.work >= workLimit || touched[n] {
			continue
		}
		at, fits := packing.empties(position[n])
		if !fits {
			continue
		}
		step := &step{leaving: []*node{n}}
		for _, i := range at {
			if to := order[i]; to.launched != nil && !touched[to] {
				step.leaving = append(step.leaving, to)
			}
		}
		if _, fits := f.together(step); !fits {
			continue
		}
		for _, s := range f.tryAnew(step.leaving) {
			if s.why == "" && f.apply(s) {
				changed = true
				for _, n := range s.leaving {
					touched[n] = true
				}
			}
		}
	}
	return changed
}
